/** Big graphs, drawn small: tasks of one type at one depth become a single stack until somebody opens it. */
import { gathered } from "@/parts/gather";

import { depthsOf, neighboursOf, type GraphEdge, type GraphTask } from "./shape";

export const COLLAPSED_FROM = 80; // a graph of more tasks than this begins collapsed
const SMALLEST_STACK = 3; // fewer are drawn as they are

/** What is drawn as one box: a task, or a stack of tasks that are alike. */
export interface Box {
  id: string;
  tasks: GraphTask[];
  isStack: boolean;
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

/** Every link goes from a lower depth to a higher one, so that what is drawn has no cycle either. */
export function collapse(
  tasks: readonly GraphTask[],
  edges: readonly GraphEdge[],
  isOpen: (stack: string) => boolean,
): Drawing {
  const boxes = [...stacksOf(tasks, edges)].flatMap<Box>(([id, alike]) =>
    alike.length < SMALLEST_STACK || isOpen(id)
      ? alike.map((task) => ({ id: task.id, tasks: [task], isStack: false }))
      : [{ id, tasks: alike, isStack: true }],
  );
  const boxOf = new Map(boxes.flatMap((box) => box.tasks.map((task) => [task.id, box.id] as const)));
  return { boxes, links: linksOf(edges, boxOf), boxOf };
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
    if (from === undefined || to === undefined) continue;
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
