/** The tasks of the list, page after page, kept up with the yard without moving under the reader's eyes. */
import { useInfiniteQuery, useQueryClient, type InfiniteData } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import type { Sort } from "@/api/sorts";
import { taskPages, type RowPage, type TaskFilter, type TaskRow } from "@/api/tasks";
import { say } from "@/language/say";
import { useEvents, useLive } from "@/live/live";
import type { YardEvent } from "@/live/stream";

type Pages = InfiniteData<RowPage, number>;

export interface Rows {
  rows: readonly TaskRow[];
  isPending: boolean;
  isOld: boolean; // they are of the filter before
  isLoadingMore: boolean;
  error: Error | null;
  missing: string | null; // what is not in the list though it may belong there
  more: () => void;
  refresh: () => void;
}

/** At the top of the list new tasks appear by themselves; further down, tasks change in place and new ones are counted. */
export function useRows(filter: TaskFilter, sort: Sort, isAtTop: () => boolean): Rows {
  const client = useQueryClient();
  const { breaks } = useLive();
  const options = taskPages(filter, sort);
  const query = useInfiniteQuery(options);
  const [seen, setSeen] = useState({ key: "", created: 0, breaks });
  const key = JSON.stringify([filter, sort]);
  if (seen.key !== key) setSeen({ key, created: 0, breaks });

  const pages = query.data?.pages;
  const follows = () => pages === undefined || (pages.length === 1 && isAtTop());

  useEvents((events) => {
    const told = events.filter((event) => event.task_id !== null);
    if (told.length === 0) return;
    if (follows()) return void query.refetch();
    const created = told.filter((event) => event.event === "task.created").length;
    if (created > 0) setSeen((before) => ({ ...before, created: before.created + created }));
    client.setQueryData<Pages>(options.queryKey, (data) => data && withChanges(data, told));
  });

  const rows = useMemo(() => pages?.flatMap((page) => page.tasks) ?? [], [pages]);
  return {
    rows,
    isPending: query.isPending,
    isOld: query.isPlaceholderData,
    isLoadingMore: query.isFetchingNextPage,
    error: query.error,
    missing:
      seen.created > 0
        ? say("{number} new", { number: seen.created })
        : seen.breaks === breaks
          ? null
          : say("May be out of date"),
    more() {
      if (query.hasNextPage && !query.isFetching) void query.fetchNextPage();
    },
    refresh() {
      setSeen({ key, created: 0, breaks });
      client.setQueryData<Pages>(options.queryKey, (data) => data && firstPage(data));
      void query.refetch();
    },
  };
}

function firstPage(data: Pages): Pages {
  return { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) };
}

function withChanges(data: Pages, events: readonly YardEvent[]): Pages {
  const latest = new Map(events.map((event) => [event.task_id, event]));
  const isConcerned = (page: RowPage) => page.tasks.some((task) => latest.has(task.id));
  if (!data.pages.some(isConcerned)) return data;
  const pages = data.pages.map((page) =>
    isConcerned(page) ? { ...page, tasks: page.tasks.map((task) => moved(task, latest.get(task.id))) } : page,
  );
  return { ...data, pages };
}

function moved(task: TaskRow, event: YardEvent | undefined): TaskRow {
  if (event === undefined) return task;
  const { status, attempt, progress } = event.payload;
  return {
    ...task,
    updated_at: event.at,
    ...(typeof status === "string" && { status }),
    ...(typeof attempt === "number" && { attempt }),
    ...(progress !== undefined && { progress }),
  };
}
