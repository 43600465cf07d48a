import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import type { YardEvent } from "@/live/stream";

import { answered, api, type Shapes } from "./client";
import type { Sort } from "./sorts";

export type TaskRow = Shapes["TaskRow"];

/** A page of the list. The document has it as one of several answers, by what was asked for. */
export interface RowPage {
  tasks: TaskRow[];
  cursor: number | null;
}

export type TaskDetails = Shapes["TaskDetails"];
export type Attempt = Shapes["Attempt"];

/** Which tasks: what the address of the page says. */
export interface TaskFilter {
  status: string[];
  type: string[];
  queue?: string;
  agent?: string;
  subject?: string;
  dag?: string;
  parent?: string;
  tag?: string;
  q?: string;
  reason?: string;
  since?: string;
  until?: string;
}

const PAGE = 200;

/** The list is not asked again on every event: whoever shows it decides how it moves. */
export function taskPages(filter: TaskFilter, sort: Sort) {
  return infiniteQueryOptions({
    queryKey: ["tasks", filter, sort],
    queryFn: ({ pageParam, signal }) =>
      answered(
        api.GET("/api/tasks", {
          params: { query: { ...filter, sort, short: true, limit: PAGE, cursor: pageParam } },
          signal,
        }),
      ) as Promise<RowPage>,
    initialPageParam: 0,
    getNextPageParam: (page) => page.cursor,
    // What was found before stays until the other is there, so that nothing flickers while somebody types.
    placeholderData: (before) => before,
    // Comparing all pages with what they were, value by value, would take longer than drawing the few that are in sight.
    structuralSharing: false,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });
}

export function taskCounts(which: TaskFilter) {
  const filter = { ...which, status: [] };
  return queryOptions({
    queryKey: ["task-counts", filter],
    queryFn: ({ signal }) => answered(api.GET("/api/tasks/counts", { params: { query: filter }, signal })),
    meta: { changesWith: (event: YardEvent) => event.event.startsWith("task."), pace: 3_000 },
  });
}

export type Suggested = "type" | "queue" | "agent" | "subject" | "tag" | "reason";

/** What a filter may be set to, where it begins so. */
export function suggestions(field: Suggested, begins: string) {
  return queryOptions({
    queryKey: ["suggestions", field, begins],
    queryFn: ({ signal }) =>
      answered(api.GET("/api/tasks/suggestions", { params: { query: { field, begins } }, signal })),
    staleTime: 30_000,
    placeholderData: (before) => before,
  });
}

function at(taskId: string) {
  return { params: { path: { task_id: taskId } } };
}

export function task(taskId: string) {
  return queryOptions({
    queryKey: ["task", taskId],
    queryFn: () => answered(api.GET("/api/tasks/{task_id}", at(taskId))) as Promise<TaskDetails>,
    meta: { changesWith: (event: YardEvent) => event.task_id === taskId },
  });
}

/** Why it waits may change with anything: an agent that comes, a queue that is paused, a task ahead in the line. */
export function why(taskId: string) {
  return queryOptions({
    queryKey: ["why", taskId],
    queryFn: () => answered(api.GET("/api/tasks/{task_id}/why", at(taskId))),
    meta: { changesWith: () => true, pace: 2_000 },
  });
}

export function relations(taskId: string, dagId: string | undefined) {
  return queryOptions({
    queryKey: ["relations", taskId, dagId],
    queryFn: () => answered(api.GET("/api/tasks/{task_id}/relations", at(taskId))),
    meta: {
      changesWith: (event: YardEvent) => event.task_id === taskId || (dagId !== undefined && event.dag_id === dagId),
      pace: 2_000,
    },
  });
}

export function inputs(taskId: string) {
  return queryOptions({
    queryKey: ["inputs", taskId],
    queryFn: () => answered(api.GET("/api/tasks/{task_id}/inputs", at(taskId))),
  });
}

export function checkpoints(taskId: string) {
  return queryOptions({
    queryKey: ["checkpoints", taskId],
    queryFn: () => answered(api.GET("/api/tasks/{task_id}/checkpoints", at(taskId))),
    meta: { changesWith: (event: YardEvent) => event.task_id === taskId && event.event === "task.step" },
  });
}

export type Step = Shapes["Step"];

export function steps(taskId: string) {
  return queryOptions({
    queryKey: ["steps", taskId],
    queryFn: () => answered(api.GET("/api/tasks/{task_id}/steps", at(taskId))),
    meta: { changesWith: (event: YardEvent) => event.task_id === taskId && event.event === "task.step" },
  });
}

export type TaskEvent = Shapes["Event"];

const EVENTS_AT_ONCE = 200;

/** What happened to a task: what is known already stays, and only what came after it is asked for. */
export function taskEvents(taskId: string) {
  return queryOptions({
    queryKey: ["task-events", taskId],
    queryFn: async ({ client, queryKey }) => {
      const known = client.getQueryData<TaskEvent[]>(queryKey) ?? [];
      const found = [...known];
      for (;;) {
        const after = found.at(-1)?.seq ?? 0;
        const query = { after, limit: EVENTS_AT_ONCE };
        const { events } = await answered(
          api.GET("/api/tasks/{task_id}/events", { params: { path: { task_id: taskId }, query } }),
        );
        found.push(...events);
        if (events.length < EVENTS_AT_ONCE) return found;
      }
    },
    meta: { changesWith: (event: YardEvent) => event.task_id === taskId },
  });
}

/** The tasks that agents work on, for a glance. */
export const runningNow = queryOptions({
  queryKey: ["running-now"],
  queryFn: () =>
    answered(
      api.GET("/api/tasks", { params: { query: { status: ["running"], short: true, limit: 8 } } }),
    ) as Promise<RowPage>,
  meta: { changesWith: (event: YardEvent) => event.event.startsWith("task."), pace: 1_500 },
});
