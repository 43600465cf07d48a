/** Big graphs, drawn small: tasks of one type at one depth become a single stack until somebody opens it. */
import { gathered } from "@/parts/gather";

import { depthsOf, neighboursOf, type GraphEdge, type GraphTask } from "./shape";

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
  id: string;
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
  tasks: readonly GraphTask[],
  edges: readonly GraphEdge[],
  isOpen: (stack: string) => boolean,
  foldOf = UNFOLDED, // the first task of the fold that a task is in
): Drawing {
  const folded = gathered(
    tasks.filter(({ id }) => foldOf.has(id)),
    ({ id }) => foldOf.get(id) ?? "",
  );
  const boxes = [
    ...[...folded].map(([root, members]) => foldBox(root, members)),
    ...[...stacksOf(tasks, edges)].flatMap(([id, all]) => {
      const alike = folded.size === 0 ? all : all.filter((task) => !foldOf.has(task.id));
      const one = { isStack: false, isFold: false };
      return alike.length < SMALLEST_STACK || isOpen(id)
        ? alike.map((task): Box => ({ id: task.id, tasks: [task], ...one }))
        : [{ id, tasks: alike, isStack: true, isFold: false }];
    }),
  ];
  const boxOf = new Map(boxes.flatMap((box) => box.tasks.map((task) => [task.id, box.id] as const)));
  return { boxes, links: linksOf(edges, boxOf), boxOf };
}

export const FOLD = "fold:";

function foldBox(root: string, members: readonly GraphTask[]): Box {
  const tasks = [...members.filter(({ id }) => id === root), ...members.filter(({ id }) => id !== root)];
  return { id: `${FOLD}${root}`, tasks, isStack: false, isFold: true };
}

/** The tasks of each stack, by its name. */
export function stacksOf(tasks: readonly GraphTask[], edges: readonly GraphEdge[]): Map<string, GraphTask[]> {
  const ids = tasks.map((task) => task.id);
  const depths = depthsOf(ids, neighboursOf(ids, edges));
  return gathered(tasks, (task) => `stack:${depths.get(task.id) ?? 0}:${task.type}`);
}

function linksOf(edges: readonly GraphEdge[], boxOf: Map<string, string>): Link[] {
  const links = new Map<string, Link>();
  for (const { parent, child, kind } of edges) {
    const from = boxOf.get(parent);
    const to = boxOf.get(child);
    if (from === undefined || to === undefined || from === to) continue;
    const id = linkOf(from, to);
    const known = links.get(id);
    if (known) known.count += 1;
    else links.set(id, { id, from, to, kind, count: 1 });
  }
  return [...links.values()];
}

export function linkOf(from: string, to: string): string {
  return `${from}→${to}`;
}
