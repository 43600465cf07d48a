/** DAGs: the list, one with its tasks, and what can be done to it. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { answered, api, type Shapes } from "./client";

export type Dag = Shapes["Dag"];
export type DagInShort = Shapes["DagInShort"];
export type DagTask = Shapes["TaskInShort"];

const PAGE = 50;

export const dags = infiniteQueryOptions({
  queryKey: ["dags"],
  queryFn: ({ pageParam, signal }) =>
    answered(api.GET("/api/dags", { params: { query: { limit: PAGE, cursor: pageParam } }, signal })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.cursor,
  meta: { changesWith: (event) => event.event.startsWith("dag.") },
});

export function dag(id: string) {
  return queryOptions({
    queryKey: ["dag", id],
    queryFn: ({ signal }) => answered(api.GET("/api/dags/{dag_id}", { params: { path: { dag_id: id } }, signal })),
    meta: { changesWith: (event) => event.dag_id === id },
  });
}

/** What would be cancelled, or was. */
export async function cancelDag(id: string, reason: string, isTrial: boolean): Promise<string[]> {
  const call = api.POST("/api/dags/{dag_id}/cancel", {
    params: { path: { dag_id: id } },
    body: { reason, dry_run: isTrial },
  });
  return (await answered(call)).task_ids;
}

export function setDagBudget(id: string, ceiling: string | null): Promise<unknown> {
  return answered(
    api.POST("/api/dags/{dag_id}/budget", { params: { path: { dag_id: id } }, body: { budget_ceiling_usd: ceiling } }),
  );
}
