import { expect, test } from "vitest";

import { grown } from "./live-output";

function chunk(kind: string, text: string, attempt = 1, data: unknown = null) {
  return { place: `${attempt}-0`, attempt, index: 0, at: "2026-01-01T00:00:00Z", kind, text, data, restarted: false };
}

test("texts follow each other, and what is no text has a line of its own", () => {
  const one = grown({ attempt: 0, text: "" }, chunk("text", "the "));
  const two = grown(one, chunk("text", "fox\n"));
  const three = grown(two, chunk("json", "", 1, { tool: "search" }));

  expect(three).toEqual({ attempt: 1, text: 'the fox\n{"tool":"search"}\n' });
});

test.each([
  ["json", "", { tool: "search" }, '{"tool":"search"}'],
  ["cut", "12 characters were left out", null, "12 characters were left out"],
])("a chunk of the kind %s ends the line that a text has begun", (kind, text, data, line) => {
  const shown = grown({ attempt: 1, text: "half a" }, chunk(kind, text, 1, data));

  expect(shown.text).toBe(`half a\n${line}\n`);
});

test("a new attempt begins anew", () => {
  const first = grown({ attempt: 1, text: "half a" }, chunk("text", "again", 2));

  expect(first).toEqual({ attempt: 2, text: "again" });
});

test("messages and progress are shown elsewhere, and only the end of very much is kept", () => {
  const before = { attempt: 1, text: "x".repeat(200_000) };

  expect(grown(before, chunk("message", "", 1, { text: "hi" }))).toEqual(before);
  expect(grown(before, chunk("stdout", "yz")).text).toBe(`${"x".repeat(199_998)}yz`);
});
