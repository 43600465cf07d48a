import { expect, test } from "vitest";

import { burning } from "./burning";

const SIX = Date.parse("2026-11-15T06:00:00Z");

test("a quarter of the day's money in a quarter of the day lasts until midnight", () => {
  expect(burning(25, 100, SIX)).toEqual({ perHour: 25 / 6, byMidnight: 100, emptyAt: null });
});

test("half of the day's money in a quarter of the day is gone at noon", () => {
  expect(burning(50, 100, SIX).emptyAt).toBe(Date.parse("2026-11-15T12:00:00Z"));
});

test("money that is gone was gone before now, and is said to be gone now", () => {
  expect(burning(120, 100, SIX).emptyAt).toBe(SIX);
});

test("without a ceiling nothing runs out", () => {
  expect(burning(500, null, SIX).emptyAt).toBeNull();
});
