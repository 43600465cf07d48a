import { queryOptions, useQuery } from "@tanstack/react-query";

import { answered, api, type Shapes } from "./client";

export type Overview = Shapes["Overview"];
export type Series = Shapes["Series"];

export const WINDOWS = ["1h", "6h", "24h", "7d"] as const;
export type Window = (typeof WINDOWS)[number];

/** The server keeps this for a second or more, so that many pages may ask for it all the time. */
export const overview = queryOptions({
  queryKey: ["overview"],
  queryFn: () => answered(api.GET("/api/overview")),
  meta: { changesWith: () => true, pace: 1_500, readAt: (data) => (data as Overview | undefined)?.at },
});

export function series(window: Window | "14d") {
  return queryOptions({
    queryKey: ["series", window],
    queryFn: () => answered(api.GET("/api/series", { params: { query: { window } } })),
  });
}

/** What each queue, or each type of agents, has done: from the stored figures, however much waits. */
export function shares(by: "queue" | "agent", window: Window = "1h") {
  return queryOptions({
    queryKey: ["series", window, by],
    queryFn: ({ signal }) => answered(api.GET("/api/series", { params: { query: { window, by } }, signal })),
    refetchInterval: COUNTED,
  });
}

const COUNTED = 15_000; // milliseconds: the figures are counted every few seconds

interface Attention {
  dead: number;
  approvals: number;
  breakers: number;
}

/** How much waits for a person, for the marks in the navigation. */
export function useAttention(): Attention {
  const { data } = useQuery(overview);
  return { dead: data?.dead_unreviewed ?? 0, approvals: data?.approvals ?? 0, breakers: data?.open_breakers ?? 0 };
}
