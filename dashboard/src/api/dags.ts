/** DAGs: the list, one with its tasks, and what can be done to it. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { answered, api, type Api, nextTurn, type Shapes } from "./client";
import { likeTask, type Draft, type Original } from "./new-work";

export type Dag = Shapes["Dag"];
export type DagInShort = Shapes["DagInShort"];
export type DagTask = Shapes["TaskInShort"];

const PAGE = 50;

/** Which DAGs: what the address of the page says. */
export interface DagFilter {
  status: string[];
  q?: string;
  tag?: string;
  created_by?: string;
  since?: string;
  until?: string;
}

export function dags(filter: DagFilter) {
  return infiniteQueryOptions({
    queryKey: ["dags", filter],
    queryFn: ({ pageParam, signal }) =>
      answered(api.GET("/api/dags", { params: { query: { ...filter, limit: PAGE, cursor: pageParam } }, signal })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.cursor,
    placeholderData: (before) => before,
    meta: { changesWith: (event) => event.event.startsWith("dag.") },
  });
}

/** A DAG as it would be put in again: each task under a name, and without what belongs to that one alone. */
export function dagDraft(id: string) {
  return queryOptions({
    queryKey: ["dag-draft", id],
    queryFn: async ({ client, signal }) => {
      const { title, tags, budget_ceiling_usd: ceiling } = await client.query(dag(id));
      const found: Original[] = [];
      for (let cursor: number | null = 0; cursor !== null;) {
        const query = { dag: id, limit: 200, cursor, sort: "oldest" };
        const page = (await answered(api.GET("/api/tasks", { params: { query }, signal }))) as unknown as TaskPage;
        found.push(...page.tasks);
        cursor = page.cursor;
      }
      return likeDag({ title, tags, budget_ceiling_usd: ceiling }, found);
    },
    staleTime: Infinity,
  });
}

interface TaskPage {
  tasks: Original[];
  cursor: number | null;
}

type Whole = Pick<Dag, "title" | "tags" | "budget_ceiling_usd">;

function likeDag({ title, tags, budget_ceiling_usd: ceiling }: Whole, tasks: readonly Original[]): Draft {
  const names = new Map(tasks.map((task, index) => [task.id, `${task.type}-${index + 1}`]));
  return {
    title,
    ...(tags.length > 0 && { tags }),
    ...(ceiling !== null && { budget_ceiling_usd: ceiling }),
    tasks: tasks.map((task) => ({
      name: names.get(task.id),
      ...likeTask(task),
      ...(task.depends_on.length > 0 && { depends_on: task.depends_on.map((each) => names.get(each) ?? each) }),
    })),
  };
}

export function dag(id: string) {
  return queryOptions({
    queryKey: ["dag", id],
    queryFn: async ({ signal }) => {
      const found = await answered(api.GET("/api/dags/{dag_id}", { params: { path: { dag_id: id } }, signal }));
      await nextTurn();
      return found;
    },
    // A large DAG is a large answer: no more often than people look.
    meta: { changesWith: (event) => event.dag_id === id, pace: 1_500 },
  });
}

/** What would be cancelled, or was. */
export async function cancelDag(via: Api, id: string, reason: string, isTrial: boolean): Promise<string[]> {
  const call = via.POST("/api/dags/{dag_id}/cancel", {
    params: { path: { dag_id: id } },
    body: { reason, dry_run: isTrial },
  });
  return (await answered(call)).task_ids;
}

export function setDagBudget(via: Api, id: string, ceiling: string | null): Promise<unknown> {
  return answered(
    via.POST("/api/dags/{dag_id}/budget", { params: { path: { dag_id: id } }, body: { budget_ceiling_usd: ceiling } }),
  );
}
