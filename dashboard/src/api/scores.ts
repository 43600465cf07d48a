/** Variants of task types, and how they do. */
import { queryOptions } from "@tanstack/react-query";

import { answered, api, type Api, type Shapes } from "./client";

export type VariantReport = Shapes["VariantReport"];
export type VariantDifference = Shapes["VariantDifference"];
export type TypeVariants = Shapes["TypeVariants"];

export const DAYS = [1, 7, 30, 90] as const;

export const variants = queryOptions({
  queryKey: ["variants"],
  queryFn: ({ signal }) => answered(api.GET("/api/variants", { signal })),
  meta: { changesWith: ({ event }) => event.startsWith("variants.") },
});

/** It reads thousands of tasks: not again for every one that ends. */
export function report(type: string, days: number) {
  return queryOptions({
    queryKey: ["score-report", type, days],
    queryFn: ({ signal }) => answered(api.GET("/api/scores/report", { params: { query: { type, days } }, signal })),
    staleTime: 30_000,
  });
}

export function setVariants(via: Api, type: string, given: Record<string, unknown>[]): Promise<unknown> {
  return answered(via.PUT("/api/variants/{type}", { params: { path: { type } }, body: { variants: given } }));
}
