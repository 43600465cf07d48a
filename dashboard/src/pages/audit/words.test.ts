import { expect, it } from "vitest";

import { asCommand, factsOf, placeOf } from "./words";

it("leaves out facts that are empty", () => {
  expect(factsOf({ reason: "no", note: "", grant: { slots: 3 }, tags: [], x: null })).toBe(
    'reason no, grant {"slots":3}',
  );
});

it("leads to the page of what was acted on", () => {
  expect(placeOf("task", "task_1")).toBe("/tasks/task_1");
  expect(placeOf("agent", "coder")).toBe("/agents");
  expect(placeOf("token", "x")).toBeUndefined();
});

it("is a command that a shell takes as it is", () => {
  expect(asCommand("ls", { who: "human:ada", action: "task.*" })).toBe(
    "taskyard audit ls --who human:ada --action 'task.*'",
  );
});
