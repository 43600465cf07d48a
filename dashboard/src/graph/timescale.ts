/** Times as places on a line. */
import type { GraphTask } from "./shape";

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400, 604_800];
const SHORTEST = 1000; // milliseconds: a DAG that is over in an instant still has a line to stand on

export interface Span {
  from: number;
  until: number;
}

export interface Extent {
  from: number;
  last: number | null; // null: something still goes on
}

/** From the first thing that happened to the last: read once, however often the clock ticks. */
export function extentOf(tasks: readonly GraphTask[]): Extent {
  const extent: Extent = { from: Infinity, last: -Infinity };
  for (const { created_at: created, ended_at: ended } of tasks) {
    extent.from = Math.min(extent.from, Date.parse(created));
    extent.last = ended === null || extent.last === null ? null : Math.max(extent.last, Date.parse(ended));
  }
  return extent;
}

export function spanOf({ from, last }: Extent, now: number): Span {
  return { from, until: Math.max(last ?? now, from + SHORTEST) };
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
