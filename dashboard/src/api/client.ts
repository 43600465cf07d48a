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

export type Api = typeof api;

export interface Sent {
  method: string;
  path: string;
  body?: unknown;
}

/** What a deed would send first: it is given a client that keeps the call and reaches nobody. Null where it sends nothing. */
export async function rehearsed(act: (via: Api) => Promise<unknown>): Promise<Sent | null> {
  const kept: Request[] = [];
  const nobody = createClient<paths>({
    baseUrl: location.origin,
    fetch(request) {
      kept.push(request);
      return Promise.reject(new Unreachable());
    },
  });
  await act(nobody).catch(() => undefined);
  const [first] = kept;
  if (first === undefined) return null;
  const { pathname, search } = new URL(first.url);
  const text = await first.text();
  return { method: first.method, path: pathname + search, ...(text !== "" && { body: JSON.parse(text) as unknown }) };
}

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
