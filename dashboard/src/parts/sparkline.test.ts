import { expect, test } from "vitest";

import { gatheredIn } from "./sparkline";

test("neighbours are taken together until there are few enough, and none is lost", () => {
  expect(gatheredIn([1, 2, 3, 4, 5], 2)).toEqual([6, 9]);
  expect(gatheredIn([1, 2], 30)).toEqual([1, 2]);
  expect(gatheredIn([], 30)).toEqual([]);
});
