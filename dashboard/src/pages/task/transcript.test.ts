import { expect, test } from "vitest";

import type { TaskEvent } from "@/api/tasks";

import { foundIn, grown, piecesOf, transcriptOf, type Chunk, type Entry } from "./transcript";

function chunk(index: number, kind: string, text: string, more: Partial<Chunk> = {}): Chunk {
  const at = `2026-11-15T12:00:${String(index).padStart(2, "0")}Z`;
  return { place: `1-${index}`, attempt: 1, index, at, kind, text, data: null, restarted: false, ...more };
}

function streamed(...chunks: Chunk[]): readonly Entry[] {
  return chunks.reduce<readonly Entry[]>(grown, []);
}

function happened(seq: number, second: number, event: string, payload: Record<string, unknown>): TaskEvent {
  return { seq, at: `2026-11-15T12:00:${String(second).padStart(2, "0")}Z`, event, payload } as unknown as TaskEvent;
}

test("text that is streamed in pieces is one entry, until something else is said or another attempt begins", () => {
  const entries = streamed(
    chunk(0, "text", "Hel"),
    chunk(1, "text", "lo"),
    chunk(2, "stdout", "done\n"),
    chunk(3, "text", "again"),
    chunk(0, "text", "anew", { attempt: 2 }),
  );

  expect(entries.map(({ kind, text }) => [kind, text])).toEqual([
    ["text", "Hello"],
    ["stdout", "done\n"],
    ["text", "again"],
    ["text", "anew"],
  ]);
});

test("a value that names a tool is a call of it", () => {
  const [call, value] = streamed(
    chunk(0, "json", "", { data: { tool: "grep", errors: 0 } }),
    chunk(1, "json", "", { data: 7 }),
  );

  expect([call?.kind, call?.who, value?.kind, value?.text]).toEqual(["tool", "grep", "value", "7"]);
});

test("what an attempt says without end is kept from its end", () => {
  let entries: readonly Entry[] = [];
  for (let index = 0; index < 60; index++) entries = grown(entries, chunk(index, "text", "x".repeat(10_000)));

  expect(entries.map(({ text }) => text.length)).toEqual([400_000]);
});

test("events and what was streamed stand in one order", () => {
  const events = [
    happened(1, 1, "task.message", { text: "I begin", kind: "text" }),
    happened(2, 5, "task.step", { step: "tool:search:7" }),
    happened(3, 6, "task.claimed", { agent: "ada" }),
  ];

  expect(
    transcriptOf(events, streamed(chunk(3, "text", "thinking"))).map(({ kind, who, text }) => [kind, who, text]),
  ).toEqual([
    ["message", "text", "I begin"],
    ["text", "", "thinking"],
    ["tool", "tool:search:7", ""],
  ]);
});

test("a search looks at names and texts, and a view at kinds", () => {
  const entries = streamed(
    chunk(0, "text", "The BUILD is red"),
    chunk(1, "stderr", "build failed"),
    chunk(2, "stdout", "ok"),
  );

  expect(foundIn(entries, "all", "build").length).toBe(2);
  expect(foundIn(entries, "logs", " build ").map(({ kind }) => kind)).toEqual(["stderr"]);
});

test("what was searched for is every second piece, whatever signs it is made of", () => {
  expect(piecesOf("a.b A.B axb", "a.b")).toEqual(["", "a.b", " ", "A.B", " axb"]);
});
