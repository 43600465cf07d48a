import { expect, test } from "vitest";

import { asLines, diffOf } from "./diff";

function sides(before: string, after: string): [string, string] {
  const { rows } = diffOf(before, after);
  const side = (which: "before" | "after") => rows.map((row) => row[which]).filter((line) => line !== null);
  return [side("before").join("\n"), side("after").join("\n")];
}

test("equal texts have no change", () => {
  expect(diffOf("a\nb", "a\nb")).toMatchObject({ changes: 0, isExact: true });
});

test("a changed line stands beside what it was", () => {
  expect(diffOf("a\nb\nc", "a\nx\nc").rows).toEqual([
    { kind: "same", before: "a", after: "a" },
    { kind: "changed", before: "b", after: "x" },
    { kind: "same", before: "c", after: "c" },
  ]);
});

test("a line that came or went moves no other", () => {
  expect(diffOf("a\nb\nc\nd", "a\nc\nnew\nd").rows.map(({ kind }) => kind)).toEqual([
    "same",
    "removed",
    "same",
    "added",
    "same",
  ]);
});

test("both texts are whole, whatever happened to them", () => {
  let seed = 7;
  const draw = (most: number) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % most;
  for (let round = 0; round < 200; round++) {
    const text = () => Array.from({ length: draw(12) + 1 }, () => "abcd"[draw(4)] ?? "").join("\n");
    const [before, after] = [text(), text()];
    expect(sides(before, after)).toEqual([before, after]);
  }
});

test("texts that differ too much are shown whole and soon", () => {
  const many = (word: string) => Array.from({ length: 20_000 }, (_, index) => `${word} ${index}`).join("\n");
  const diff = diffOf(many("a"), many("b"));

  expect(diff.isExact).toBe(false);
  expect(sides(many("a"), many("b"))).toEqual([many("a"), many("b")]);
});

test("the order of members makes no difference", () => {
  expect(asLines({ b: [{ d: 1, c: 2 }], a: 1 })).toBe(asLines({ a: 1, b: [{ c: 2, d: 1 }] }));
});
