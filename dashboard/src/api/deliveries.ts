/** What comes in by webhooks, and what goes out: notifications and callbacks. */
import { queryOptions } from "@tanstack/react-query";

import type { YardEvent } from "@/live/stream";

import { answered, api, type Api, type Shapes } from "./client";

export type Notification = Shapes["Notification"];
export type Fire = Shapes["Fire"];
export type SentEvent = Shapes["Event"];

interface IncomingDelivery {
  trigger: string;
  fire: Fire;
}

const LISTED = 50; // of each
const isSent = ({ event }: YardEvent) => event.startsWith("notification.");

/** Those on their way, or those that were given up. */
export function outgoing(parked: boolean) {
  return queryOptions({
    queryKey: ["notifications", parked],
    queryFn: async ({ signal }) =>
      (await answered(api.GET("/api/notifications", { params: { query: { parked, limit: LISTED } }, signal })))
        .notifications,
    meta: { changesWith: (event: YardEvent) => isSent(event) || event.event === "task.dead_lettered", pace: 2_000 },
  });
}

/** What became of notifications, newest first: those that arrived are kept as events. */
export const sent = queryOptions({
  queryKey: ["sent"],
  queryFn: async ({ signal }) => {
    const query = { event: "notification.*", order: "newest" as const, limit: LISTED };
    const page = (await answered(api.GET("/api/events", { params: { query }, signal }))) as { events: SentEvent[] };
    return page.events.sort((one, other) => other.seq - one.seq);
  },
  meta: { changesWith: isSent },
});

/** What came to every webhook, newest first. */
export const incoming = queryOptions({
  queryKey: ["incoming"],
  queryFn: async ({ signal }): Promise<IncomingDelivery[]> => {
    const { triggers } = await answered(api.GET("/api/triggers", { signal }));
    const hooks = triggers.filter((each) => each.source === "webhook");
    const found = await Promise.all(hooks.map(({ id }) => firesOf(id, signal)));
    return found.flat().sort((one, other) => other.fire.at.localeCompare(one.fire.at));
  },
  meta: {
    changesWith: ({ event }: YardEvent) =>
      event.startsWith("trigger.") || event === "task.created" || event === "dag.created",
    pace: 3_000,
  },
});

async function firesOf(trigger: string, signal: AbortSignal): Promise<IncomingDelivery[]> {
  const params = { path: { trigger_id: trigger }, query: { limit: LISTED } };
  const { fires } = await answered(api.GET("/api/triggers/{trigger_id}/fires", { params, signal }));
  return fires.map((fire) => ({ trigger, fire }));
}

function at(id: string) {
  return { params: { path: { notification_id: id } } };
}

export function resend(via: Api, id: string): Promise<unknown> {
  return answered(via.POST("/api/notifications/{notification_id}/resend", at(id)));
}

export function dismiss(via: Api, id: string): Promise<unknown> {
  return answered(via.POST("/api/notifications/{notification_id}/dismiss", at(id)));
}
