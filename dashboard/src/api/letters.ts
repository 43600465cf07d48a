/** Dead letters and approvals: what waits for a person. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import type { YardEvent } from "@/live/stream";

import { answered, api, type Api, type Shapes } from "./client";
import { refusalOf, Unreachable } from "./problem";

export type DeadLetter = Shapes["TaskDetails"];
export type Approval = Shapes["Approval"];
export type Question = Shapes["Question"];
export type LinkedQuestion = Shapes["LinkedQuestion"];
export type Resolution = Shapes["Resolve"]["resolution"];

const PAGE = 100;
const MOVES_LETTERS = new Set(["task.dead_lettered", "task.revived", "task.escalated", "task.cancelled"]);
const MOVES_APPROVALS = new Set(["task.suspended", "task.signalled", "task.ready", "task.cancelled", "task.answered"]);

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

export function resolve(via: Api, taskId: string, body: Shapes["Resolve"]): Promise<unknown> {
  return answered(via.POST("/api/dead-letters/{task_id}/resolve", { params: { path: { task_id: taskId } }, body }));
}

export function answer(taskId: string, name: string, data: unknown, wait: number): Promise<unknown> {
  return answered(
    api.POST("/api/tasks/{task_id}/answer", { params: { path: { task_id: taskId } }, body: { name, data, wait } }),
  );
}

export function linkedQuestion(link: string) {
  return queryOptions({
    queryKey: ["link", link],
    queryFn: ({ signal }) => answered(api.GET("/api/links/{link}", { params: { path: { link } }, signal })),
    staleTime: Infinity, // what is being typed must not be lost
  });
}

export function answerByLink(link: string, data: unknown): Promise<unknown> {
  return answered(api.POST("/api/links/{link}", { params: { path: { link } }, body: { data } }));
}

/** Stores a file, and gives what a task refers to it by. */
export async function storeFile(file: File): Promise<string> {
  const response = await fetch(`/api/artifacts/${encodeURIComponent(file.name)}`, {
    method: "PUT",
    headers: { "content-type": file.type === "" ? "application/octet-stream" : file.type },
    body: file,
  }).catch(() => {
    throw new Unreachable();
  });
  if (!response.ok) throw await refusalOf(response);
  return ((await response.json()) as Shapes["Artifact"]).ref;
}

export function signal(via: Api, taskId: string, name: string, data: unknown): Promise<unknown> {
  return answered(
    via.POST("/api/tasks/{task_id}/signal", { params: { path: { task_id: taskId } }, body: { name, data } }),
  );
}
