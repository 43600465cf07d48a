import { expect, it } from "vitest";

import type { TailedEvent } from "@/live/tail";

import { asCommand, factsOf, toneOf } from "./words";

it("says what the line does not show already", () => {
  const event = { payload: { status: "ready", reason: "crash", waited: 3, model: null } } as unknown as TailedEvent;
  expect(factsOf(event)).toBe("reason crash");
});

it("has a colour for what went wrong", () => {
  expect([toneOf("task.dead_lettered"), toneOf("task.completed"), toneOf("task.created")]).toEqual([
    "bad",
    "good",
    "calm",
  ]);
});

it("is the command that follows the same events", () => {
  expect(asCommand({ event: "task.*", task_type: "code", task_id: "task_1" })).toBe(
    "taskyard events --follow --event 'task.*' --type code task_1",
  );
});
