/** Putting work in: tasks and DAGs, what they would cost, and what an editor may suggest. */
import { queryOptions } from "@tanstack/react-query";

import { answered, api, type Shapes } from "./client";
import { Unreachable } from "./problem";

export type Estimate = Shapes["DagEstimate"];
export type Draft = Record<string, unknown>;

/** What a task is put in with: the editor checks only its form, and the server everything. */
export async function enqueue(draft: Draft): Promise<{ id: string; created: boolean }> {
  const made = await answered(api.POST("/api/tasks", { body: draft }));
  return { id: made.task.id, created: made.created };
}

export async function submitDag(draft: Draft): Promise<string> {
  return (await answered(api.POST("/api/dags", { body: draft as Shapes["DagDraft"] }))).dag_id;
}

export function estimate(draft: Draft): Promise<Estimate> {
  return answered(api.POST("/api/dags/estimate", { body: draft as Shapes["DagDraft"] }));
}

/** The server's own description of its calls, which has the schema of every body. */
export const openApi = queryOptions({
  queryKey: ["openapi"],
  queryFn: async ({ signal }) => {
    const response = await fetch("/openapi.json", { signal }).catch(() => {
      throw new Unreachable();
    });
    return (await response.json()) as Record<string, unknown>;
  },
  staleTime: Infinity,
  gcTime: Infinity,
});

/** What another task is made from. */
export type Original = Pick<
  Shapes["TaskDetails"],
  "id" | "type" | "title" | "spec" | "queue" | "agent" | "subject" | "priority" | "tags" | "depends_on"
>;

/** A task as it was put in, for another like it: without what belongs to that one alone. */
export function likeTask(task: Original): Draft {
  const { spec } = task;
  const limits = Object.fromEntries(Object.entries(spec.constraints).filter(([, value]) => !isNothing(value)));
  const draft: Draft = {
    type: task.type,
    title: task.title,
    prompt: spec.prompt,
    payload: spec.payload,
    context_refs: spec.context_refs,
    ...limits,
    queue: task.queue === "default" ? null : task.queue,
    agent: task.agent,
    subject: task.subject,
    priority: task.priority,
    tags: task.tags,
  };
  return Object.fromEntries(Object.entries(draft).filter(([, value]) => !isNothing(value)));
}

function isNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
