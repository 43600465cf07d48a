/** A live tail of some events: what came last, then each new one. It stops and goes on where it was. */
import { useEffect, useEffectEvent, useState } from "react";

import { answered, api } from "@/api/client";

import type { YardEvent } from "./stream";

export type EventFilter = Partial<Record<"event" | "task_type" | "agent" | "subject" | "task_id" | "dag_id", string>>;

export interface TailedEvent extends YardEvent {
  task_type: string | null;
  agent: string | null;
  subject: string | null;
}

const FIRST = 100; // events that a page begins with
const KEPT = 1_000; // events that it holds
const GATHER = 150; // milliseconds that events gather before they are drawn
const AGAIN = 3_000; // milliseconds until a stream that was refused is tried again

interface Tail {
  events: readonly TailedEvent[]; // newest first
  isConnected: boolean;
  problem: unknown;
}

/** Follow the events that match while `isGoing`. Those that come while it is stopped are read when it goes on. */
export function useTail(filter: EventFilter, isGoing: boolean): Tail {
  const [events, setEvents] = useState<readonly TailedEvent[]>([]);
  const [isConnected, setConnected] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [after, setAfter] = useState<number | null>(null); // where the stream goes on; null: nothing was read yet
  const key = new URLSearchParams(filter).toString();
  const [known, setKnown] = useState(key);
  if (known !== key) {
    setKnown(key);
    setEvents([]);
    setAfter(null);
  }
  const newest = useEffectEvent(() => events[0]?.seq ?? after ?? 0);

  useEffect(() => {
    if (after !== null) return;
    const abort = new AbortController();
    lastOf(key, abort.signal)
      .then((found) => {
        setEvents(found);
        setAfter(found[0]?.seq ?? 0);
        setProblem(null);
      })
      .catch((error: unknown) => {
        if (!abort.signal.aborted) setProblem(error);
      });
    return () => abort.abort();
  }, [key, after]);

  const isReady = after !== null;
  useEffect(() => {
    if (!isGoing || !isReady) return;
    let batch: TailedEvent[] = [];
    let timer: number | undefined;
    let source: EventSource | undefined;
    let again: number | undefined;
    function draw() {
      timer = undefined;
      const fresh = batch.reverse();
      batch = [];
      setEvents((before) => [...fresh, ...before].slice(0, KEPT));
    }
    function open() {
      const from = batch.at(-1)?.seq ?? newest();
      const stream = new EventSource(`/api/events?${key}${key === "" ? "" : "&"}after=${from}`);
      source = stream;
      stream.onopen = () => setConnected(true);
      stream.onmessage = (message: MessageEvent<string>) => {
        batch.push(JSON.parse(message.data) as TailedEvent);
        timer ??= window.setTimeout(draw, GATHER);
      };
      stream.onerror = () => {
        setConnected(false);
        // After a lost connection the browser comes back by itself, with the number of the last event.
        if (stream.readyState === EventSource.CLOSED) again = window.setTimeout(open, AGAIN);
      };
    }
    open();
    return () => {
      window.clearTimeout(timer);
      window.clearTimeout(again);
      source?.close();
      setConnected(false);
      if (batch.length > 0) draw();
    };
  }, [isGoing, isReady, key]);

  return { events, isConnected, problem };
}

async function lastOf(key: string, signal: AbortSignal): Promise<TailedEvent[]> {
  const filter = Object.fromEntries(new URLSearchParams(key)) as EventFilter;
  const query = { ...filter, order: "newest" as const, limit: FIRST };
  const page = (await answered(api.GET("/api/events", { params: { query }, signal }))) as { events: TailedEvent[] };
  return page.events.sort((one, other) => other.seq - one.seq);
}
