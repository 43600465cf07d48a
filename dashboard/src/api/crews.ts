/** Agents and the runtimes that host them. */
import { queryOptions } from "@tanstack/react-query";

import type { YardEvent } from "@/live/stream";

import { answered, api, type Api, type Shapes } from "./client";

export type Agent = Shapes["Agent"];
export type Runtime = Shapes["Runtime"];
export type HeldTask = Shapes["TaskRow"];

const HELD = ["claimed", "running", "validating"];
const MOVES_WORK = new Set([
  "task.claimed",
  "task.running",
  "task.completed",
  "task.retrying",
  "task.dead_lettered",
  "task.released",
  "task.cancelled",
  "task.suspended",
]);

function movesAgents({ event }: YardEvent): boolean {
  return event.startsWith("agent.") || MOVES_WORK.has(event);
}

export const agents = queryOptions({
  queryKey: ["agents"],
  queryFn: ({ signal }) => answered(api.GET("/api/agents", { signal })),
  meta: { changesWith: movesAgents, pace: 2_000 },
});

export const runtimes = queryOptions({
  queryKey: ["runtimes"],
  queryFn: ({ signal }) => answered(api.GET("/api/runtimes", { signal })),
  meta: { changesWith: ({ event }: YardEvent) => event.startsWith("agent.") },
});

/** What all agents are at: one page, newest first. */
export const heldTasks = queryOptions({
  queryKey: ["held-tasks"],
  queryFn: ({ signal }) =>
    answered(
      api.GET("/api/tasks", { params: { query: { status: HELD, short: true, limit: 200 } }, signal }),
    ) as Promise<{ tasks: HeldTask[] }>,
  meta: { changesWith: (event) => movesAgents(event) || event.event === "task.progress", pace: 2_000 },
});

function at(agentId: string) {
  return { params: { path: { agent_id: agentId } } };
}

export function drain(via: Api, agentId: string): Promise<unknown> {
  return answered(via.POST("/api/agents/{agent_id}/drain", at(agentId)));
}

export function resume(via: Api, agentId: string): Promise<unknown> {
  return answered(via.POST("/api/agents/{agent_id}/resume", at(agentId)));
}

/** Of all agents of a type together. */
export function setTypeBudget(
  via: Api,
  type: string,
  usd: string | null,
  per: "ever" | "day" | "month",
): Promise<unknown> {
  const body = { budget_usd: usd, budget_per: usd === null ? null : per };
  return answered(via.POST("/api/agents/{agent_id}/budget", { ...at(type), body }));
}

/** Lets what their code says count again. */
export function takeBackBudget(via: Api, type: string): Promise<unknown> {
  return answered(via.POST("/api/agents/{agent_id}/budget", { ...at(type), body: { take_back: true } }));
}

export function removeAgent(via: Api, agentId: string): Promise<unknown> {
  return answered(via.DELETE("/api/agents/{agent_id}", at(agentId)));
}
