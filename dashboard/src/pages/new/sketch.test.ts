import { expect, test } from "vitest";

import { sketchOf } from "./sketch";

const task = (name: string, ...after: string[]) => ({ name, type: "code", depends_on: after });

test("tasks stand behind what they depend on", () => {
  const { levels, cycle } = sketchOf({
    tasks: [task("c", "a", "b"), task("b", "a"), task("a"), task("d", "task_01J")],
  });

  expect(levels.map((level) => level.map(({ name }) => name))).toEqual([["a", "d"], ["b"], ["c"]]);
  expect(cycle).toEqual([]);
});

test("a cycle and an unknown name are found", () => {
  const { levels, cycle } = sketchOf({ tasks: [task("a", "b"), task("b", "a"), task("c", "nobody")] });

  expect(cycle.map(({ name }) => name)).toEqual(["a", "b"]);
  expect(levels.flat().map(({ name, unknown }) => [name, unknown])).toEqual([["c", ["nobody"]]]);
});

test("what is no graph yet is empty", () => {
  for (const dag of [null, {}, { tasks: 3 }, { tasks: [null, 7] }])
    expect(sketchOf(dag)).toEqual({ levels: [], cycle: [] });
});
