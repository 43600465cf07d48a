import { queryOptions } from "@tanstack/react-query";

import { answered, api, type Shapes } from "./client";

export type Session = Shapes["Who"];

export const session = queryOptions({
  queryKey: ["session"],
  queryFn: () => answered(api.GET("/api/session")),
  staleTime: 60_000,
  retry: false,
});

export async function startSession(token: string): Promise<Session> {
  return answered(api.POST("/api/session", { body: { token } }));
}

export async function endSession(): Promise<void> {
  await api.DELETE("/api/session");
}
