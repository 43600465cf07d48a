/** The task that an action is about: what every view of a task has. */
import { say } from "@/language/say";

export interface Subject {
  id: string;
  title: string;
  type: string;
  status: string;
}

const FINAL = new Set(["completed", "cancelled", "dead_lettered"]);
const WAITING = new Set(["pending", "ready", "retrying"]);

export function isFinal(status: string): boolean {
  return FINAL.has(status);
}

export function isWaiting(status: string): boolean {
  return WAITING.has(status);
}

/** How a task is called, also where it has no title. */
export function nameOf(task: { title: string; type: string; summary?: string | null }): string {
  return task.title || task.summary || say("untitled {type}", { type: task.type });
}
