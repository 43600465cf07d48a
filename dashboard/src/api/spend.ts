/** Money: what was spent on what, what may be spent, and by whom. */
import { queryOptions } from "@tanstack/react-query";

import type { YardEvent } from "@/live/stream";

import { answered, api, type Api, type Shapes } from "./client";

export type Ceiling = Shapes["Spend"];
export type Report = Shapes["SpendReport"];
export type Settings = Shapes["Settings"];

const MOVES_MONEY = new Set([
  "task.completed",
  "task.retrying",
  "task.dead_lettered",
  "task.claimed",
  "workspace.budget",
]);

function movesMoney({ event }: YardEvent): boolean {
  return MOVES_MONEY.has(event) || event.endsWith(".budget");
}

/** What is reserved and spent on every ceiling: agents', DAGs', days'. */
export const ceilings = queryOptions({
  queryKey: ["ceilings"],
  queryFn: ({ signal }) => answered(api.GET("/api/spend", { signal })),
  meta: { changesWith: movesMoney, pace: 3_000 },
});

export function report(days: number) {
  return queryOptions({
    queryKey: ["spend-report", days],
    queryFn: ({ signal }) => answered(api.GET("/api/spend/report", { params: { query: { days } }, signal })),
    meta: { changesWith: movesMoney, pace: 3_000 },
  });
}

export const budget = queryOptions({
  queryKey: ["budget"],
  queryFn: ({ signal }) => answered(api.GET("/api/budget", { signal })),
  meta: { changesWith: ({ event }: YardEvent) => event.startsWith("workspace.") },
});

export function setBudget(via: Api, daily: string | null, reserve: string): Promise<unknown> {
  return answered(via.PUT("/api/budget", { body: { daily_budget_usd: daily, default_reserve_usd: reserve } }));
}
