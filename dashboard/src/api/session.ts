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

/** How people may sign in here, besides with a token. */
export const signInWays = queryOptions({
  queryKey: ["sign-in-ways"],
  queryFn: () => answered(api.GET("/api/session/ways")),
  staleTime: 60_000,
});

/** Ends the session; where the provider has one of its own, says where that is ended. */
export async function endSession(): Promise<string | null> {
  return (await answered(api.DELETE("/api/session"))).url;
}
