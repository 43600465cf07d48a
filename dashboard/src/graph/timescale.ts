/** Times as places on a line. */
import type { GraphTask } from "./shape";

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400, 604_800];
const SHORTEST = 1000; // milliseconds: a DAG that is over in an instant still has a line to stand on

export interface Span {
  from: number;
  until: number;
}

/** From the first thing that happened to the last, or to now where something still goes on. */
export function spanOf(tasks: readonly GraphTask[], now: number): Span {
  const from = Math.min(...tasks.map((task) => Date.parse(task.created_at)));
  const until = Math.max(...tasks.map((task) => (task.ended_at === null ? now : Date.parse(task.ended_at))));
  return { from, until: Math.max(until, from + SHORTEST) };
}

/** Where on the line a time is: 0 at its beginning, 1 at its end. */
export function placeOf(time: number, { from, until }: Span): number {
  return Math.min(1, Math.max(0, (time - from) / (until - from)));
}

/** Seconds since the beginning to write under the line: about so many, and round. */
export function ticksOf({ from, until }: Span, wanted: number): number[] {
  const seconds = (until - from) / 1000;
  const step = STEPS.find((each) => seconds / each <= wanted) ?? Math.ceil(seconds / wanted);
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, index) => index * step);
}
