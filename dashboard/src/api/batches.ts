/** Model calls that were gathered into batches of a provider. */
import { queryOptions } from "@tanstack/react-query";

import { answered, api, type Shapes } from "./client";

export type ProviderBatch = Shapes["ProviderBatch"];

export const LISTED = 100;

export const batches = queryOptions({
  queryKey: ["provider-batches"],
  queryFn: async ({ signal }) =>
    (await answered(api.GET("/api/provider-batches", { params: { query: { limit: LISTED } }, signal }))).batches,
  meta: { changesWith: ({ event }) => MOVES.has(event), pace: 2_000 },
});

// A call that joins a batch suspends its task; the others are about batches and their tasks.
const MOVES = new Set([
  "task.suspended",
  "task.sent",
  "task.batched",
  "task.completed",
  "task.dead_lettered",
  "task.cancelled",
]);
