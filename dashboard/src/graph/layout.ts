/** Where each box of a graph goes. Pure: it runs in a worker, and as it is in tests. */
import { Graph, layout as arrange } from "@dagrejs/dagre";

export const BOX_WIDTH = 184;
export const BOX_HEIGHT = 60;
const BESIDE = 20; // between boxes of one layer
const BETWEEN = 48; // from layer to layer
const LARGEST_FOR_DAGRE = 100; // beyond, it takes seconds: half a minute for a thousand boxes
const SWEEPS = 6;
const SHAPE = { right: 1.3, down: 0.35 }; // how long a column may be, so that the whole is about as wide as its room

export type Direction = "right" | "down"; // where lines lead

export interface Plan {
  direction: Direction;
  boxes: readonly string[];
  links: readonly { from: string; to: string }[];
}

export interface Place {
  x: number;
  y: number;
}

/** The top left corner of each box. The deeper it is, the further in the direction. */
export function layout(plan: Plan): Map<string, Place> {
  return plan.boxes.length <= LARGEST_FOR_DAGRE ? arranged(plan) : layered(plan);
}

function arranged({ boxes, links, direction }: Plan): Map<string, Place> {
  const graph = new Graph();
  graph.setGraph({
    rankdir: direction === "right" ? "LR" : "TB",
    ranker: "tight-tree",
    nodesep: BESIDE,
    ranksep: BETWEEN,
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of boxes) graph.setNode(box, { width: BOX_WIDTH, height: BOX_HEIGHT });
  for (const { from, to } of links) graph.setEdge(from, to);
  arrange(graph);
  return new Map(
    boxes.map((box) => {
      const { x, y } = graph.node(box) as Place;
      return [box, { x: x - BOX_WIDTH / 2, y: y - BOX_HEIGHT / 2 }];
    }),
  );
}

/** Columns by depth, each sorted by where its neighbours stand: good enough to follow a line, and done at once. */
function layered({ boxes, links, direction }: Plan): Map<string, Place> {
  const parents = new Map<string, string[]>(boxes.map((box) => [box, []]));
  const children = new Map<string, string[]>(boxes.map((box) => [box, []]));
  for (const { from, to } of links) {
    parents.get(to)?.push(from);
    children.get(from)?.push(to);
  }
  const columns = columnsOf(boxes, parents, children);
  const rows = new Map<string, number>();
  for (const column of columns) column.forEach((box, row) => rows.set(box, row - column.length / 2));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const forth = sweep % 2 === 0;
    for (const column of forth ? columns : columns.toReversed()) sortBy(column, forth ? parents : children, rows);
  }
  return placed(columns, direction, Math.ceil(SHAPE[direction] * Math.sqrt(boxes.length)));
}

/** A column longer than the rest is broken into several beside each other: a fan of hundreds is no tower. */
function placed(columns: string[][], direction: Direction, longest: number): Map<string, Place> {
  const [along, across] = direction === "right" ? [BOX_WIDTH, BOX_HEIGHT] : [BOX_HEIGHT, BOX_WIDTH];
  const places = new Map<string, Place>();
  let depth = 0;
  for (const column of columns) {
    const length = Math.min(column.length, longest);
    column.forEach((box, index) => {
      const a = depth + Math.floor(index / length) * (along + BESIDE);
      const c = ((index % length) - length / 2) * (across + BESIDE);
      places.set(box, direction === "right" ? { x: a, y: c } : { x: c, y: a });
    });
    depth += Math.ceil(column.length / length) * (along + BESIDE) + BETWEEN;
  }
  return places;
}

function columnsOf(
  boxes: readonly string[],
  parents: Map<string, string[]>,
  children: Map<string, string[]>,
): string[][] {
  const waitsFor = new Map(boxes.map((box) => [box, parents.get(box)?.length ?? 0]));
  let column = boxes.filter((box) => waitsFor.get(box) === 0);
  const columns: string[][] = [];
  while (column.length > 0) {
    columns.push(column);
    const next: string[] = [];
    for (const child of column.flatMap((box) => children.get(box) ?? [])) {
      const left = (waitsFor.get(child) ?? 0) - 1;
      waitsFor.set(child, left);
      if (left === 0) next.push(child);
    }
    column = next;
  }
  return columns;
}

function sortBy(column: string[], neighbours: Map<string, string[]>, rows: Map<string, number>): void {
  const wish = new Map(
    column.map((box) => {
      const near = (neighbours.get(box) ?? []).map((each) => rows.get(each) ?? 0);
      return [box, near.length === 0 ? (rows.get(box) ?? 0) : near.reduce((sum, row) => sum + row, 0) / near.length];
    }),
  );
  column.sort((a, b) => (wish.get(a) ?? 0) - (wish.get(b) ?? 0));
  column.forEach((box, row) => rows.set(box, row - column.length / 2));
}
