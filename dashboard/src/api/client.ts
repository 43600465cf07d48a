/** Every call to the server goes through here: typed by its own OpenAPI document, and refused as an error. */
import createClient, { type Middleware } from "openapi-fetch";

import { noteServerTime } from "@/live/clock";

import { refusalOf, Unreachable } from "./problem";
import type { components, paths } from "../../made/schema";

export type Shapes = components["schemas"];

const manners: Middleware = {
  async onResponse({ response }) {
    noteServerTime(response.headers.get("taskyard-now"));
    if (!response.ok) throw await refusalOf(response);
    return response;
  },
  onError() {
    return new Unreachable();
  },
};

export const api = createClient<paths>({ baseUrl: location.origin });
api.use(manners);

/** The body of an answer: what is no success was thrown before. */
export async function answered<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T;
}

/** A large answer is read in one turn and compared with the one before in the next, so that a frame fits between them. */
export function nextTurn(): Promise<void> {
  return new Promise((go) => {
    setTimeout(go);
  });
}
