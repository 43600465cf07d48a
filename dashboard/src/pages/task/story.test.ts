import { expect, test } from "vitest";

import type { TaskEvent } from "@/api/tasks";

import { saying, stretchesOf, tell } from "./story";

function happened(event: string, at: string, payload: Record<string, unknown>): TaskEvent {
  return {
    seq: 1,
    at,
    type: "",
    event,
    task_id: "task_1",
    task_type: "code",
    agent: null,
    subject: null,
    dag_id: null,
    workspace: "default",
    payload,
  };
}

test("a stretch lasts until the state changes, and the last one still does", () => {
  const stretches = stretchesOf([
    happened("task.created", "2026-01-01T00:00:00Z", { status: "ready" }),
    happened("task.reprioritised", "2026-01-01T00:00:05Z", { status: "ready" }),
    happened("task.message", "2026-01-01T00:00:06Z", { text: "hello" }),
    happened("task.running", "2026-01-01T00:00:10Z", { status: "running" }),
  ]);

  expect(stretches).toEqual([
    { status: "ready", from: "2026-01-01T00:00:00Z", to: "2026-01-01T00:00:10Z" },
    { status: "running", from: "2026-01-01T00:00:10Z", to: null },
  ]);
});

test("a start names the agent and how long the task stood in line", () => {
  const told = tell(happened("task.running", "", { agent: "coder-1", waited: 99_450 }));

  expect(told).toEqual({ words: "Started by coder-1", more: "after 99 ms in line" });
});

test("a question is told with its text, and an answer with who gave it", () => {
  expect(tell(happened("task.asked", "", { name: "ask:1", question: "Deploy it?" }))).toEqual({
    words: "Asked",
    more: "Deploy it?",
  });
  expect(tell(happened("task.answered", "", { name: "ask:1", by: "human:ada" }))).toEqual({
    words: "Answered ask:1",
    more: "by human:ada",
  });
  expect(tell(happened("task.answered", "", { name: "ask:1", by: "timeout", default: true }))).toEqual({
    words: "Nobody answered ask:1",
    more: "its default counts",
  });
});

test("an event that has no words of its own is called by its name", () => {
  expect(tell(happened("task.something_new", "", { by: "human:ada" }))).toEqual({
    words: "something new",
    more: "by human:ada",
  });
});

test.each([
  ["task.message", { kind: "text", text: "two call sites are left" }, "two call sites are left", "text"],
  [
    "task.progress",
    { progress: { fraction: 0.42, note: "running the tests" } },
    "42 % · running the tests",
    "progress",
  ],
  ["task.progress", { progress: 100 }, "100 %", "progress"],
  ["task.message", { attempt: 1, odd: [1] }, '{"odd":[1]}', "message"],
])("%s with %j is said as words", (event, payload, words, more) => {
  expect(saying(happened(event, "", payload))).toEqual({ words, more });
});
