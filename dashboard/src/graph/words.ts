/** What a box of the graph says, to those who see it and to those who hear it. */
import { nameOf } from "@/actions/subject";
import { say } from "@/language/say";
import { cents, span } from "@/parts/format";
import { lookOf } from "@/parts/status";

import type { Box } from "./collapse";
import { secondsOf, type GraphTask } from "./shape";

// The first that any task of a stack is in gives the stack its colour: what needs a person comes first.
const LOUDEST = [
  "dead_lettered",
  "retrying",
  "running",
  "validating",
  "claimed",
  "ready",
  "pending",
  "cancelled",
  "completed",
];

export function loudest(tasks: readonly GraphTask[]): string {
  const present = new Set(tasks.map((task) => task.status));
  return LOUDEST.find((status) => present.has(status)) ?? "pending";
}

/** The class that gives something the colour of a status. */
export function toneOf(status: string): string {
  return `tone-${lookOf(status).tone}`;
}

/** How many of the tasks are in each status, loudest first. */
export function countsOf(tasks: readonly GraphTask[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const { status } of tasks) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => LOUDEST.indexOf(a) - LOUDEST.indexOf(b));
}

export function costOf(tasks: readonly GraphTask[]): number {
  return tasks.reduce((sum, task) => sum + Number(task.cost_usd), 0);
}

/** The whole box in a sentence. */
export function inWords(box: Box, now: number, path: readonly string[]): string {
  const isCritical = box.tasks.some((task) => path.includes(task.id));
  const [task] = box.tasks;
  if (task === undefined) return "";
  if (box.isFold) return foldInWords(task, box.tasks, isCritical);
  return box.isStack ? stackInWords(box.tasks, isCritical) : `${nameOf(task)}, ${standing(task, now, isCritical)}`;
}

/** How a task stands: what is shown of it beside its name. */
export function standing(task: GraphTask, now: number, isCritical: boolean): string {
  const seconds = secondsOf(task, now);
  const took = seconds === null ? say("not begun") : span(seconds);
  return `${task.type}: ${lookOf(task.status).word}, ${took}, ${cents(task.cost_usd)}${onThePath(isCritical)}.`;
}

function foldInWords(first: GraphTask, tasks: readonly GraphTask[], isCritical: boolean): string {
  const counts = countsOf(tasks).map(([status, count]) => `${count} ${lookOf(status).word}`);
  const which = say("{first} and {tasks|# task|# tasks} behind it, folded", {
    first: nameOf(first),
    tasks: tasks.length - 1,
  });
  return `${which}: ${counts.join(", ")}; ${cents(costOf(tasks))}${onThePath(isCritical)}. ${say("Enter unfolds it.")}`;
}

function stackInWords(tasks: readonly GraphTask[], isCritical: boolean): string {
  const counts = countsOf(tasks).map(([status, count]) => `${count} ${lookOf(status).word}`);
  const which = say("{tasks|# task|# tasks} of type {type}", { tasks: tasks.length, type: tasks[0]?.type ?? "" });
  return `${which}: ${counts.join(", ")}; ${cents(costOf(tasks))}${onThePath(isCritical)}. ${say("Enter opens the stack.")}`;
}

function onThePath(isCritical: boolean): string {
  return isCritical ? `, ${say("on the critical path")}` : "";
}
