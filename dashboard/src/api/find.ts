/** Tasks and DAGs by what somebody remembers of them: some words of the title, or an id. */
import { queryOptions } from "@tanstack/react-query";

import { answered, api } from "./client";
import type { DagInShort } from "./dags";
import { task, type RowPage, type TaskRow } from "./tasks";

const SHOWN = 6;

interface Found {
  tasks: Pick<TaskRow, "id" | "title" | "type">[];
  dags: Pick<DagInShort, "id" | "title">[];
}

export function foundByText(text: string) {
  return queryOptions({
    queryKey: ["found", text],
    queryFn: async ({ client, signal }): Promise<Found> => {
      if (/^task_\w{26}$/.test(text)) return { tasks: [await client.query(task(text))], dags: [] };
      const query = { q: text, limit: SHOWN };
      const [tasks, dags] = await Promise.all([
        answered(api.GET("/api/tasks", { params: { query: { ...query, short: true } }, signal })),
        answered(api.GET("/api/dags", { params: { query }, signal })),
      ]);
      return { tasks: (tasks as RowPage).tasks, dags: dags.dags };
    },
    staleTime: 5_000,
    retry: false,
    placeholderData: (before) => before,
  });
}
