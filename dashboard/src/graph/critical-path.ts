/** The chain of tasks that decides how long the whole DAG takes. */
import { gathered } from "@/parts/gather";

import { inOrder, neighboursOf, secondsOf, type GraphEdge, type GraphTask } from "./shape";

const UNKNOWN_SECONDS = 1; // so that among tasks that nothing is known of, the longest chain wins

/** The ids of the longest chain, first to last. A task not yet done counts as long as others of its type took. */
export function criticalPath(tasks: readonly GraphTask[], edges: readonly GraphEdge[], now: number): string[] {
  const ids = tasks.map((task) => task.id);
  const neighbours = neighboursOf(ids, edges);
  const seconds = expectedSeconds(tasks, now);
  const until = new Map<string, number>(); // when a task would end, had everything begun at 0
  const before = new Map<string, string>();
  let last: string | undefined;
  for (const id of inOrder(ids, neighbours)) {
    let start = 0;
    for (const parent of neighbours.parents.get(id) ?? []) {
      const end = until.get(parent) ?? 0;
      if (end > start) {
        start = end;
        before.set(id, parent);
      }
    }
    until.set(id, start + (seconds.get(id) ?? UNKNOWN_SECONDS));
    if (last === undefined || (until.get(id) ?? 0) > (until.get(last) ?? 0)) last = id;
  }
  const path: string[] = [];
  for (let id = last; id !== undefined; id = before.get(id)) path.unshift(id);
  return path;
}

function expectedSeconds(tasks: readonly GraphTask[], now: number): Map<string, number> {
  const ended = tasks.filter((task) => task.ended_at !== null && task.started_at !== null);
  const usual = new Map(
    [...gathered(ended, ({ type }) => type)].map(([type, alike]) => [
      type,
      median(alike.map((task) => secondsOf(task, now) ?? 0)),
    ]),
  );
  return new Map(
    tasks.map((task) => {
      const soFar = secondsOf(task, now) ?? 0;
      const expected = usual.get(task.type) ?? UNKNOWN_SECONDS;
      return [task.id, task.ended_at === null ? Math.max(expected, soFar) : soFar];
    }),
  );
}

function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
