/** Schedules and triggers: what puts work in by itself. */
import { queryOptions } from "@tanstack/react-query";

import type { YardEvent } from "@/live/stream";

import { answered, api, type Shapes } from "./client";

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

export interface NewSchedule {
  id: string;
  when: string;
  type: string;
  prompt: string;
}

export function addSchedule({ id, when, type, prompt }: NewSchedule): Promise<unknown> {
  const body = {
    id,
    when,
    task: { type, prompt },
    misfire: "once" as const,
    misfire_window_sec: 86_400,
    busy: "allow" as const,
    paused: false,
    replace: false,
  };
  return answered(api.POST("/api/schedules", { body }));
}

export function runSchedule(id: string): Promise<Fire> {
  return answered(api.POST("/api/schedules/{schedule_id}/run", ofSchedule(id)));
}

export function pauseSchedule(id: string): Promise<unknown> {
  return answered(api.POST("/api/schedules/{schedule_id}/pause", ofSchedule(id)));
}

export function resumeSchedule(id: string): Promise<unknown> {
  return answered(api.POST("/api/schedules/{schedule_id}/resume", ofSchedule(id)));
}

export function removeSchedule(id: string): Promise<unknown> {
  return answered(api.DELETE("/api/schedules/{schedule_id}", ofSchedule(id)));
}

export function fireTrigger(id: string, data: Record<string, unknown>, isTrial: boolean): Promise<Fire> {
  return answered(api.POST("/api/triggers/{trigger_id}/fire", { ...ofTrigger(id), body: { data, dry_run: isTrial } }));
}

export function pauseTrigger(id: string): Promise<unknown> {
  return answered(api.POST("/api/triggers/{trigger_id}/pause", ofTrigger(id)));
}

export function resumeTrigger(id: string): Promise<unknown> {
  return answered(api.POST("/api/triggers/{trigger_id}/resume", ofTrigger(id)));
}

export function removeTrigger(id: string): Promise<unknown> {
  return answered(api.DELETE("/api/triggers/{trigger_id}", ofTrigger(id)));
}
