import { expect, test } from "vitest";

import { ago, cents, money, ordinal, shortId, span, tierOf, tokens } from "./format";

test.each([
  [0.042, "42 ms"],
  [8.44, "8.4 s"],
  [59.9, "59 s"],
  [60, "1m"],
  [200, "3m 20s"],
  [7260, "2h 1m"],
  [187_200, "2d 4h"],
  [-5, "−5.0 s"],
])("%f seconds are %s", (seconds, words) => {
  expect(span(seconds)).toBe(words);
});

test.each([
  [400, "now"],
  [65_000, "1m ago"],
  [-7_300_000, "in 2h"],
])("%i milliseconds ago is %s", (milliseconds, words) => {
  expect(ago(milliseconds)).toBe(words);
});

test.each([
  [0, 0, 0, 0, null],
  [900, 80, 0, 0, "900 in, 80 out"],
  [12_000, 340, 8_000, 0, "12K in (8,000 from a cache), 340 out"],
  [900, 0, 600, 250, "900 in (600 from a cache, 250 into a cache), 0 out"],
])("%i read, %i written, %i and %i cached are %s", (input, output, cache_read, cache_write, words) => {
  expect(tokens({ input, output, cache_read, cache_write })).toBe(words);
});

test("money keeps every digit that was stored", () => {
  expect(money("0.193649")).toBe("$0.193649");
  expect(money("1234567890123.5")).toBe("$1,234,567,890,123.50");
});

test.each([
  [1e-7, "$0.00"],
  [-0.5, "-$0.50"],
  ["-0.000001", "-$0.000001"],
  [1e21, "$1,000,000,000,000,000,000,000.00"],
  ["nonsense", "$NaN"],
])("money is written whatever its form: %j", (usd, words) => {
  expect(money(usd)).toBe(words);
});

test("money in a tight place is told to the cent, and what is less is not told as nothing", () => {
  expect(cents("12.345")).toBe("$12.35");
  expect(cents("0.0004")).toBe("$0.0004");
  expect(cents("0")).toBe("$0.00");
});

test("the days of a month are counted as people do", () => {
  expect([1, 2, 3, 4, 11, 12, 13, 21, 22, 31].map(ordinal)).toEqual([
    ...["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "31st"],
  ]);
});

test("an id is known by its end", () => {
  expect(shortId("task_01M7F8S289XB16W0P0MFCSC6GN")).toBe("task_…CSC6GN");
  expect(shortId("coder-1")).toBe("coder-1");
});

test("tiers end where people were told they do", () => {
  expect([0, 9, 10, 29, 30, 59, 60, 79, 80, 100].map(tierOf)).toEqual([
    ...["critical", "critical", "high", "high", "normal"],
    ...["normal", "low", "low", "background", "background"],
  ]);
});
