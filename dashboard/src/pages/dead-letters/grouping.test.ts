import { expect, test } from "vitest";

import { grouped, withoutChance, type DeadLetter } from "./grouping";

function letter(id: string, type: string, reason: string, error: string): DeadLetter {
  return { id, type, dead: { reason }, failure: { reason, error } } as DeadLetter;
}

test.each([
  ["cannot reach 10.0.3.17:8443 after 3 tries", "cannot reach 10.0.9.201:443 after 12 tries"],
  ["no file '/work/a.txt'", "no file '/elsewhere/b.txt'"],
  ["object at 0x7f3a11 is gone", "object at 0x55bb02 is gone"],
  ["task_01M7F7F8X811N0KP52WAXYQ9VV not found", "task_01M7F7FEAN08JYJ7JNR9D00GXJ not found"],
  ["commit 1e39d26f failed", "commit 676380c1 failed"],
  ["1 failed, 211 passed\nassert 302 == 200", "3 failed, 9 passed\nassert True"],
])("%j and %j are the same failure", (one, other) => {
  expect(withoutChance(one)).toBe(withoutChance(other));
});

test("words tell failures apart", () => {
  expect(withoutChance("connection refused")).not.toBe(withoutChance("connection reset"));
});

test("letters are grouped by type, reason and error, the largest group first", () => {
  const groups = grouped([
    letter("a", "code", "crash", "exit 1"),
    letter("b", "deploy", "crash", "exit 1"),
    letter("c", "deploy", "crash", "exit 139"),
    letter("d", "deploy", "timeout", "exit 1"),
  ]);

  expect(groups.map((group) => group.letters.map(({ id }) => id))).toEqual([["b", "c"], ["a"], ["d"]]);
});
