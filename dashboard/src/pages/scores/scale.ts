/** Means with their intervals as places on one line. Nothing here draws. */
import type { VariantReport } from "@/api/scores";

export interface Interval {
  variant: string | null;
  mean: number | null;
  low: number | null; // null: too few values to tell
  high: number | null;
}

export interface Measure {
  name: string;
  unit: "share" | "usd" | "seconds" | "score";
  intervals: Interval[];
}

/** What the report compares: completions, cost, and each score that any variant has. */
export function measuresOf({ variants }: VariantReport): Measure[] {
  const names = [...new Set(variants.flatMap(({ scores }) => scores.map(({ name }) => name)))].sort();
  const of = (figure: { mean: number | null; low: number | null; high: number | null }, variant: string | null) => ({
    variant,
    mean: figure.mean,
    low: figure.low,
    high: figure.high,
  });
  return [
    { name: "completed", unit: "share", intervals: variants.map((each) => of(each.rate, each.name)) },
    { name: "cost", unit: "usd", intervals: variants.map((each) => of(each.cost, each.name)) },
    ...names.map((name): Measure => {
      const none = { mean: null, low: null, high: null };
      const intervals = variants.map((each) => of(each.scores.find((score) => score.name === name) ?? none, each.name));
      return { name, unit: "score", intervals };
    }),
  ];
}

/** From where to where the line goes: all intervals, with a little room; shares from 0 to 1. */
export function lineOf({ unit, intervals }: Measure): { from: number; until: number } {
  if (unit === "share") return { from: 0, until: 1 };
  const values = intervals.flatMap(({ mean, low, high }) => [mean, low, high]).filter((value) => value !== null);
  if (values.length === 0) return { from: 0, until: 1 };
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = (most - least || Math.abs(most) || 1) * 0.08;
  const from = unit === "score" ? least - room : Math.max(least - room, 0);
  return { from, until: most + room };
}

export function placeOn({ from, until }: { from: number; until: number }, value: number): number {
  return Math.min(Math.max((value - from) / (until - from), 0), 1);
}
