import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { EventFeed, type Connection } from "./stream";

/** A stream of the browser's, moved by hand. */
class Source {
  static readonly CLOSED = 2;
  static opened: Source[] = [];
  readyState = 0;
  onopen = () => undefined;
  onmessage: (message: { data: string }) => void = () => undefined;
  onerror = () => undefined;

  constructor(readonly url: string) {
    Source.opened.push(this);
  }

  addEventListener() {
    // Problems in mid-stream are not told here.
  }

  close() {
    this.readyState = Source.CLOSED;
  }

  tell(seq: number) {
    this.onmessage({ data: JSON.stringify({ seq, event: "task.ready" }) });
  }

  break(readyState: number) {
    this.readyState = readyState;
    this.onerror();
  }
}

function latest(): Source {
  const source = Source.opened.at(-1);
  if (source === undefined) throw new Error("no stream was opened");
  return source;
}

function started() {
  const heard: number[] = [];
  const moves: Connection[] = [];
  const resumed: boolean[] = [];
  const feed = new EventFeed({
    heard: (event) => heard.push(event.seq),
    moved: (connection) => moves.push(connection),
    resumed: (whole) => resumed.push(whole),
  });
  feed.start();
  latest().onopen();
  return { heard, moves, resumed };
}

beforeEach(() => {
  Source.opened = [];
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Source);
  vi.stubGlobal("window", globalThis);
});
afterEach(() => vi.useRealTimers());

test("a stream that the server refused is opened again after the last event that was heard", () => {
  const { heard, moves, resumed } = started();
  latest().tell(7);
  latest().break(Source.CLOSED);

  vi.advanceTimersByTime(1_000);
  latest().onopen();

  expect(latest().url).toBe("/api/events?after=7");
  expect(heard).toEqual([7]);
  expect(moves).toEqual(["live", "broken", "live"]);
  expect(resumed).toEqual([true]);
});

test("a number that is refused again may be gone: the stream begins from now, and says that it has a gap", () => {
  const { resumed } = started();
  latest().tell(7);
  latest().break(Source.CLOSED);
  vi.advanceTimersByTime(1_000);
  latest().break(Source.CLOSED);

  vi.advanceTimersByTime(2_000);
  latest().onopen();

  expect(latest().url).toBe("/api/events");
  expect(resumed).toEqual([false]);
});

test("a connection that was lost is left to the browser, which resumes by itself", () => {
  const { moves } = started();
  latest().break(0);

  vi.advanceTimersByTime(60_000);

  expect(Source.opened).toHaveLength(1);
  expect(moves).toEqual(["live", "broken"]);
});
