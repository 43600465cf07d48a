/** Lists under names, for everybody in the workspace. */
import { queryOptions } from "@tanstack/react-query";

import type { YardEvent } from "@/live/stream";

import { answered, api, type Api, type Shapes } from "./client";

export type ViewedPage = Shapes["SavedViewDraft"]["page"];

export const savedViews = queryOptions({
  queryKey: ["saved-views"],
  queryFn: ({ signal }) => answered(api.GET("/api/saved-views", { signal })),
  meta: { changesWith: ({ event }: YardEvent) => event.startsWith("view.") },
});

export function saveView(via: Api, name: string, page: ViewedPage, query: string): Promise<unknown> {
  return answered(
    via.PUT("/api/saved-views/{name}", { params: { path: { name } }, body: { page, query, description: "" } }),
  );
}

export function removeView(via: Api, name: string): Promise<unknown> {
  return answered(via.DELETE("/api/saved-views/{name}", { params: { path: { name } } }));
}
