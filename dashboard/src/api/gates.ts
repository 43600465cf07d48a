/** What holds work back: queues, breakers, throttles. */
import { queryOptions } from "@tanstack/react-query";

import type { YardEvent } from "@/live/stream";

import { answered, api, type Api, type Shapes } from "./client";
import type { RowPage } from "./tasks";

export type Queue = Shapes["Queue"];
export type Breaker = Shapes["Breaker"];
export type Throttle = Shapes["Throttle"];
export type GateEvent = Shapes["Event"];

export const queues = queryOptions({
  queryKey: ["queues"],
  queryFn: ({ signal }) => answered(api.GET("/api/queues", { signal })),
  meta: {
    changesWith: ({ event }: YardEvent) => event.startsWith("queue.") || event.startsWith("task."),
    pace: 3_000,
  },
});

export const breakers = queryOptions({
  queryKey: ["breakers"],
  queryFn: ({ signal }) => answered(api.GET("/api/breakers", { signal })),
  meta: { changesWith: ({ event }: YardEvent) => event.startsWith("breaker.") || event === "task.retrying" },
});

export const throttles = queryOptions({
  queryKey: ["throttles"],
  queryFn: ({ signal }) => answered(api.GET("/api/throttles", { signal })),
  meta: {
    changesWith: ({ event }: YardEvent) => ["signal.slowdown", "throttle.lifted", "task.parked"].includes(event),
  },
});

/** What was done to gates of one kind, newest first. */
export function history(kind: "queue" | "breaker") {
  const wanted = `${kind}.*`;
  return queryOptions({
    queryKey: ["history", kind],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/events", { params: { query: { event: wanted, order: "newest", limit: 50 } }, signal }),
      ) as Promise<Shapes["EventsRead"]>,
    meta: { changesWith: ({ event }: YardEvent) => event.startsWith(`${kind}.`) },
  });
}

export function pauseQueue(via: Api, queue: string): Promise<unknown> {
  return answered(via.POST("/api/queues/{queue}/pause", { params: { path: { queue } } }));
}

export function resumeQueue(via: Api, queue: string): Promise<unknown> {
  return answered(via.POST("/api/queues/{queue}/resume", { params: { path: { queue } } }));
}

export function openBreaker(via: Api, type: string, why: string): Promise<unknown> {
  return answered(via.POST("/api/breakers/{type}/open", { params: { path: { type } }, body: { why } }));
}

export function closeBreaker(via: Api, type: string, why: string): Promise<unknown> {
  return answered(via.POST("/api/breakers/{type}/close", { params: { path: { type } }, body: { why } }));
}

export function liftThrottle(via: Api, type: string, model: string | null): Promise<unknown> {
  return answered(via.POST("/api/throttles/lift", { body: { type, model } }));
}

/** Tasks that wait for another try. */
export const retryingSoon = queryOptions({
  queryKey: ["retrying-soon"],
  queryFn: async ({ signal }) => {
    const query = { status: ["retrying"], short: true, limit: 100 };
    const page = (await answered(api.GET("/api/tasks", { params: { query }, signal }))) as RowPage;
    return { tasks: page.tasks.sort((one, other) => (one.wake_at ?? "").localeCompare(other.wake_at ?? "")) };
  },
  meta: { changesWith: ({ event }: YardEvent) => event.startsWith("task."), pace: 2_000 },
});
