/** Big graphs, drawn small: tasks of one type at one depth become a single stack until somebody opens it. */
import { gathered } from "@/parts/gather";

import type { GraphEdge, GraphTask } from "./shape";

export const COLLAPSED_FROM = 80; // a graph of more tasks than this begins collapsed
const SMALLEST_STACK = 3; // fewer are drawn as they are

/** What is drawn as one box: a task, a stack of tasks that are alike, or a sub-graph that is folded. */
export interface Box {
  id: string;
  tasks: GraphTask[]; // of a fold, the task that it is named after comes first
  isStack: boolean;
  isFold: boolean;
}

export interface Link {
  from: string;
  to: string;
  kind: string;
  count: number; // how many edges it stands for
}

export interface Drawing {
  boxes: Box[];
  links: Link[];
  boxOf: Map<string, string>; // by task
}

const UNFOLDED: ReadonlyMap<string, string> = new Map();

/** Links between stacks go from a lower depth to a higher one. Only a fold may have one that comes back to it. */
export function collapse(
  stacks: ReadonlyMap<string, readonly GraphTask[]>,
  edges: readonly GraphEdge[],
  isOpen: (stack: string) => boolean,
  foldOf = UNFOLDED, // the first task of the fold that a task is in
): Drawing {
  const inFolds = foldOf.size === 0 ? [] : [...stacks.values()].flat().filter(({ id }) => foldOf.has(id));
  const folded = gathered(inFolds, ({ id }) => foldOf.get(id) ?? "");
  const boxes = [
    ...[...folded].map(([root, members]) => foldBox(root, members)),
    ...[...stacks].flatMap(([id, all]) => {
      const alike = folded.size === 0 ? all : all.filter((task) => !foldOf.has(task.id));
      const one = { isStack: false, isFold: false };
      return alike.length < SMALLEST_STACK || isOpen(id)
        ? alike.map((task): Box => ({ id: task.id, tasks: [task], ...one }))
        : [{ id, tasks: [...alike], isStack: true, isFold: false }];
    }),
  ];
  const boxOf = new Map(boxes.flatMap((box) => box.tasks.map((task) => [task.id, box.id] as const)));
  return { boxes, links: linksOf(edges, boxes, boxOf), boxOf };
}

export const FOLD = "fold:";

function foldBox(root: string, members: readonly GraphTask[]): Box {
  const tasks = [...members.filter(({ id }) => id === root), ...members.filter(({ id }) => id !== root)];
  return { id: `${FOLD}${root}`, tasks, isStack: false, isFold: true };
}

/** The tasks of each stack, by its name. */
export function stacksOf(tasks: readonly GraphTask[], depths: ReadonlyMap<string, number>): Map<string, GraphTask[]> {
  return gathered(tasks, (task) => `stack:${depths.get(task.id) ?? 0}:${task.type}`);
}

function linksOf(edges: readonly GraphEdge[], boxes: readonly Box[], boxOf: Map<string, string>): Link[] {
  const places = new Map(boxes.map(({ id }, place) => [id, place]));
  const links = new Map<number, Link>(); // by the places of both boxes: two ids made into one would cost far more
  for (const { parent, child, kind } of edges) {
    const from = boxOf.get(parent);
    const to = boxOf.get(child);
    if (from === undefined || to === undefined || from === to) continue;
    const pair = (places.get(from) ?? 0) * boxes.length + (places.get(to) ?? 0);
    const known = links.get(pair);
    if (known) known.count += 1;
    else links.set(pair, { from, to, kind, count: 1 });
  }
  return [...links.values()];
}
