/** Schedules and triggers: what puts work in by itself. */
import { queryOptions } from "@tanstack/react-query";

import type { YardEvent } from "@/live/stream";

import { answered, api, type Api, type Shapes } from "./client";

export type Schedule = Shapes["Schedule"];
export type Trigger = Shapes["Triggers"]["triggers"][number];
export type Fire = Shapes["Fire"];

function moves(kind: string) {
  const isMove = ({ event }: YardEvent) =>
    event.startsWith(kind) || event === "task.created" || event === "dag.created";
  return { changesWith: isMove, pace: 3_000 };
}

export const schedules = queryOptions({
  queryKey: ["schedules"],
  queryFn: ({ signal }) => answered(api.GET("/api/schedules", { signal })),
  meta: moves("schedule."),
});

export function schedule(id: string) {
  return queryOptions({
    queryKey: ["schedule", id],
    queryFn: ({ signal }) => answered(api.GET("/api/schedules/{schedule_id}", { ...ofSchedule(id), signal })),
    meta: moves("schedule."),
  });
}

export const triggers = queryOptions({
  queryKey: ["triggers"],
  queryFn: ({ signal }) => answered(api.GET("/api/triggers", { signal })),
  meta: moves("trigger."),
});

export function trigger(id: string) {
  return queryOptions({
    queryKey: ["trigger", id],
    queryFn: ({ signal }) => answered(api.GET("/api/triggers/{trigger_id}", { ...ofTrigger(id), signal })),
    meta: moves("trigger."),
  });
}

function ofSchedule(id: string) {
  return { params: { path: { schedule_id: id } } };
}

function ofTrigger(id: string) {
  return { params: { path: { trigger_id: id } } };
}

export type ScheduleDraft = Shapes["ScheduleDraft"];
type TriggerDraft = Shapes["TriggerDraft"];

/** Adds it, or puts it in the place of the one that has its id. */
export function addSchedule(via: Api, body: ScheduleDraft): Promise<unknown> {
  return answered(via.POST("/api/schedules", { body }));
}

/** How a time is understood, and what it comes to. */
export function preview(when: string) {
  return queryOptions({
    queryKey: ["schedule-preview", when],
    queryFn: ({ signal }) => answered(api.POST("/api/schedules/preview", { body: { when }, signal })),
    staleTime: 60_000,
    retry: false,
  });
}

/** The secret of a new hook, which is shown this once; null for others, and where one was replaced. */
export async function addTrigger(via: Api, body: TriggerDraft): Promise<string | null> {
  return (await answered(via.POST("/api/triggers", { body }))).secret;
}

export function runSchedule(via: Api, id: string): Promise<Fire> {
  return answered(via.POST("/api/schedules/{schedule_id}/run", ofSchedule(id)));
}

export function pauseSchedule(via: Api, id: string): Promise<unknown> {
  return answered(via.POST("/api/schedules/{schedule_id}/pause", ofSchedule(id)));
}

export function resumeSchedule(via: Api, id: string): Promise<unknown> {
  return answered(via.POST("/api/schedules/{schedule_id}/resume", ofSchedule(id)));
}

export function removeSchedule(via: Api, id: string): Promise<unknown> {
  return answered(via.DELETE("/api/schedules/{schedule_id}", ofSchedule(id)));
}

export function fireTrigger(via: Api, id: string, data: Record<string, unknown>, isTrial: boolean): Promise<Fire> {
  return answered(via.POST("/api/triggers/{trigger_id}/fire", { ...ofTrigger(id), body: { data, dry_run: isTrial } }));
}

export function pauseTrigger(via: Api, id: string): Promise<unknown> {
  return answered(via.POST("/api/triggers/{trigger_id}/pause", ofTrigger(id)));
}

export function resumeTrigger(via: Api, id: string): Promise<unknown> {
  return answered(via.POST("/api/triggers/{trigger_id}/resume", ofTrigger(id)));
}

export function removeTrigger(via: Api, id: string): Promise<unknown> {
  return answered(via.DELETE("/api/triggers/{trigger_id}", ofTrigger(id)));
}
