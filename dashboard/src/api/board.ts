import { queryOptions } from "@tanstack/react-query";

import type { YardEvent } from "@/live/stream";

import { answered, api, type Shapes } from "./client";

export type Board = Shapes["Board"];
export type BoardColumn = Shapes["BoardColumn"];
export type BoardCard = Shapes["BoardCard"];

export const LANES = ["agent", "subject", "type"] as const;
export type Lanes = (typeof LANES)[number];

export const BOARD_FIELDS = ["q", "type", "queue", "agent", "subject", "tag", "dag"] as const;
export type BoardField = (typeof BOARD_FIELDS)[number];
export type BoardFilter = Partial<Record<BoardField, string>>;

export function board({ type, ...filter }: BoardFilter, lanes: Lanes | undefined) {
  return queryOptions({
    queryKey: ["board", type, filter, lanes],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/board", {
          params: {
            query: { ...filter, ...(type !== undefined && { type: type.split(/\s+/) }), ...(lanes && { lanes }) },
          },
          signal,
        }),
      ),
    placeholderData: (before) => before,
    meta: { changesWith: (event: YardEvent) => event.event.startsWith("task."), pace: 1_000 },
  });
}

export function setPriority(taskId: string, priority: number) {
  return answered(
    api.POST("/api/tasks/{task_id}/priority", { params: { path: { task_id: taskId } }, body: { priority } }),
  );
}
