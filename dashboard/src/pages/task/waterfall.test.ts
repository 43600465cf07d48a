import { expect, test } from "vitest";

import type { Step, TaskDetails } from "@/api/tasks";

import { costOutside, placeIn, rowsOf, stagesOf } from "./waterfall";

const NOON = Date.parse("2026-11-15T12:00:00Z");
const at = (seconds: number) => new Date(NOON + seconds * 1000).toISOString();

function step(name: string, attempt: number, began: number | null, ended: number | null, more = {}): Step {
  return {
    name,
    attempt,
    began_at: began === null ? null : at(began),
    ended_at: ended === null ? null : at(ended),
    model: null,
    cost_usd: null,
    tokens_input: null,
    tokens_output: null,
    ...more,
  };
}

function task(attempts: number, isRunning = false): TaskDetails {
  const history = Array.from({ length: attempts }, (_, index) => ({
    attempt: index + 1,
    outcome: "failed",
    claimed_at: at(index * 100),
    started_at: at(index * 100 + 1),
    ended_at: at(index * 100 + 51),
    model: "opus",
    cost_usd: "0.30",
    tokens: { input: 10, output: 5 },
  }));
  const claim = isRunning ? { claimed_at: at(attempts * 100) } : null;
  const started_at = at(attempts * 100 + 1);
  return { history, claim, attempt: attempts + 1, status: "running", started_at } as unknown as TaskDetails;
}

test("each attempt is followed by its steps in the order in which they began", () => {
  const steps = [step("b", 1, 20, 30), step("a", 1, 10, 40), step("c", 2, 110, 120)];

  expect(rowsOf(task(2), steps).map(({ name }) => name)).toEqual(["Attempt 1", "a", "b", "Attempt 2", "c"]);
});

test("a step is a call of a model where it says so, and a tool by its name", () => {
  const steps = [
    step("think:1", 1, 1, 2, { model: "opus" }),
    step("run:x/tool:search:7", 1, 3, 4),
    step("read", 1, 5, 6),
  ];

  expect(rowsOf(task(1), steps).map(({ kind }) => kind)).toEqual(["attempt", "call", "tool", "step"]);
});

test("an attempt that is under way reaches until now", () => {
  const stages = stagesOf(rowsOf(task(0, true), []), NOON + 9_000);

  expect(stages).toEqual([{ from: NOON + 1_000, until: NOON + 9_000, left: 0, right: 1 }]);
  expect([NOON, NOON + 5_000, NOON + 99_000].map((time) => placeIn(stages, time))).toEqual([0, 0.5, 1]);
});

test("a long wait between attempts is a short gap", () => {
  const stages = stagesOf(rowsOf(task(2), []), NOON + 900_000); // 50 s of work each, 50 s apart

  expect(stages.map(({ left, right }) => [left, right])).toEqual([
    [0, 0.475],
    [0.525, 1],
  ]);
  expect(placeIn(stages, NOON + 70_000)).toBe(0.475); // within the wait
});

test("what was paid outside of steps is told exactly", () => {
  expect(costOutside(rowsOf(task(1), [step("a", 1, 1, 2, { cost_usd: "0.1" }), step("b", 1, 2, 3)]))).toBe(0.2);
});
