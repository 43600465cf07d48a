/** Dead letters and approvals: what waits for a person. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import type { YardEvent } from "@/live/stream";

import { answered, api, type Shapes } from "./client";

export type DeadLetter = Shapes["TaskDetails"];
export type Approval = Shapes["Approval"];
export type Resolution = Shapes["Resolve"]["resolution"];

const PAGE = 100;
const MOVES_LETTERS = new Set(["task.dead_lettered", "task.revived", "task.escalated", "task.cancelled"]);
const MOVES_APPROVALS = new Set(["task.suspended", "task.signalled", "task.ready", "task.cancelled"]);

export function deadLetters(reviewed: boolean) {
  return infiniteQueryOptions({
    queryKey: ["dead-letters", reviewed],
    queryFn: ({ pageParam, signal }) =>
      answered(
        api.GET("/api/dead-letters", { params: { query: { reviewed, limit: PAGE, cursor: pageParam } }, signal }),
      ),
    initialPageParam: 0,
    getNextPageParam: (page) => page.cursor,
    meta: { changesWith: ({ event }: YardEvent) => MOVES_LETTERS.has(event) },
  });
}

export const reviews = queryOptions({
  queryKey: ["reviews"],
  queryFn: ({ signal }) => answered(api.GET("/api/dead-letters/reviews", { signal })),
  meta: { changesWith: ({ event }: YardEvent) => MOVES_LETTERS.has(event) },
});

export const approvals = queryOptions({
  queryKey: ["approvals"],
  queryFn: ({ signal }) => answered(api.GET("/api/approvals", { signal })),
  meta: { changesWith: ({ event }: YardEvent) => MOVES_APPROVALS.has(event), pace: 2_000 },
});

export function resolve(taskId: string, body: Shapes["Resolve"]): Promise<unknown> {
  return answered(api.POST("/api/dead-letters/{task_id}/resolve", { params: { path: { task_id: taskId } }, body }));
}

export function signal(taskId: string, name: string, data: unknown): Promise<unknown> {
  return answered(
    api.POST("/api/tasks/{task_id}/signal", { params: { path: { task_id: taskId } }, body: { name, data } }),
  );
}
