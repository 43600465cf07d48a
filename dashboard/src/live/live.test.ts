import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Hub } from "./live";
import type { YardEvent } from "./stream";

const NOW = Date.parse("2026-03-01T09:00:00Z");
const MINUTE = 60_000;

/** A page that shows figures, and all that it asks for. */
function given(answer: () => Promise<{ at: string }>) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const asked = vi.fn(answer);
  const observer = new QueryObserver(client, {
    queryKey: ["figures"],
    queryFn: asked,
    meta: { changesWith: () => true, readAt: (data) => (data as { at: string } | undefined)?.at },
  });
  closers.push(observer.subscribe(() => undefined));
  const heldBack = vi.fn();
  return { hub: new Hub(client, heldBack), asked, heldBack };
}

function event(at: number): YardEvent {
  return { seq: 1, at: iso(at), type: "", event: "", task_id: null, dag_id: null, workspace: "", payload: {} };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

async function asksIn(asked: ReturnType<typeof vi.fn>, milliseconds: number): Promise<number> {
  const before = asked.mock.calls.length;
  await vi.advanceTimersByTimeAsync(milliseconds);
  return asked.mock.calls.length - before;
}

const closers: (() => void)[] = [];

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  vi.stubGlobal("window", globalThis);
});

afterEach(() => {
  closers.splice(0).forEach((close) => close());
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("an answer that the server had kept is asked for until it is newer than the event", async () => {
  const { hub, asked } = given(() => Promise.resolve({ at: iso(Math.floor(Date.now() / 8_000) * 8_000) }));
  await asksIn(asked, MINUTE);
  hub.heard(event(Date.now()));

  expect(await asksIn(asked, 15_000)).toBeGreaterThan(3);
  expect(await asksIn(asked, MINUTE)).toBe(0);
});

test("an event from the future is asked about as one of now", async () => {
  const { hub, asked } = given(() => Promise.resolve({ at: iso(Date.now()) }));
  await asksIn(asked, MINUTE);
  hub.heard(event(Date.now() + 60 * MINUTE));

  expect(await asksIn(asked, 5_000)).toBeLessThan(4);
  expect(await asksIn(asked, MINUTE)).toBe(0);
});

test.each([
  ["is never newer", () => Promise.resolve({ at: iso(NOW - 60 * MINUTE) })],
  ["never comes", () => Promise.reject(new Error("refused"))],
])("an answer that %s is not asked for without end", async (_, answer) => {
  const { hub, asked } = given(answer);
  await asksIn(asked, MINUTE);
  hub.heard(event(Date.now()));
  await asksIn(asked, MINUTE);

  expect(await asksIn(asked, 10 * MINUTE)).toBe(0);
});

test("a page that is paused asks for nothing, and says at once how much it holds back", async () => {
  const { hub, asked, heldBack } = given(() => Promise.resolve({ at: iso(NOW - MINUTE) }));
  await asksIn(asked, MINUTE);
  hub.heard(event(Date.now()));
  await asksIn(asked, 500);
  hub.pause();
  hub.heard(event(Date.now()));

  expect(await asksIn(asked, MINUTE)).toBe(0);
  expect(heldBack).toHaveBeenLastCalledWith(1);
});

test("a page that goes on asks until its answer is newer than what it held back", async () => {
  const answers = [NOW, NOW, NOW]; // read before the event; after these the server reads again
  const { hub, asked } = given(() => Promise.resolve({ at: iso(answers.shift() ?? Date.now()) }));
  await asksIn(asked, MINUTE);
  hub.pause();
  hub.heard(event(Date.now()));
  hub.resume();

  expect(await asksIn(asked, 15_000)).toBe(2);
  expect(await asksIn(asked, MINUTE)).toBe(0);
});
