import { expect, test } from "vitest";

import type { VariantReport } from "@/api/scores";

import { lineOf, measuresOf, placeOn, type Measure } from "./scale";

const none = { mean: null, low: null, high: null };

function variant(name: string | null, scores: object[]): object {
  return { name, rate: { mean: 0.5, low: 0.2, high: 0.8 }, cost: none, scores };
}

test("every score is a measure, also one that a variant has not", () => {
  const variants = [variant("a", [{ name: "style", mean: 0.4, low: 0.3, high: 0.5 }]), variant(null, [])];
  const measures = measuresOf({ variants } as unknown as VariantReport);

  expect(measures.map(({ name }) => name)).toEqual(["completed", "cost", "style"]);
  expect(measures[2]?.intervals.map(({ mean }) => mean)).toEqual([0.4, null]);
});

test.each<[Measure["unit"], (number | null)[], number, number]>([
  ["share", [0.5, 0.2, 0.8], 0, 1],
  ["usd", [0.1, 0, 0.2], 0, 0.216],
  ["score", [5, null, null], 4.6, 5.4],
  ["score", [null, null, null], 0, 1],
])("a line of %s with %j goes from %d to %d", (unit, [mean = null, low = null, high = null], from, until) => {
  const line = lineOf({ name: "x", unit, intervals: [{ variant: "a", mean, low, high }] });

  expect(line.from).toBeCloseTo(from);
  expect(line.until).toBeCloseTo(until);
});

test("a place is on the line", () => {
  expect([-1, 0, 5, 10, 11].map((value) => placeOn({ from: 0, until: 10 }, value))).toEqual([0, 0, 0.5, 1, 1]);
});
