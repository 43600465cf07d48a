/** Keeps what is on the page as fresh as the yard: events mark the queries that they change, and those are asked again.
 *
 * A query says in its `meta.changesWith` which events concern it. However many events come, each query on the page is
 * asked again at most once in a while, and not at all while live updates are paused.
 */
import { useQueryClient, type Query, type QueryClient } from "@tanstack/react-query";
import { createContext, use, useEffect, useEffectEvent, useMemo, useState, type ReactNode } from "react";

import { serverNow } from "./clock";
import { EventFeed, type Connection, type YardEvent } from "./stream";

declare module "@tanstack/react-query" {
  interface Register {
    queryMeta: {
      changesWith?: (event: YardEvent) => boolean;
      pace?: number; // milliseconds that the answer is good enough for, whatever happens
      /** When the answer was read, where the server may give one that it has kept: it is asked until it is newer than the event, for a while. */
      readAt?: (data: unknown) => string | undefined;
    };
  }
}

const GATHER = 80; // milliseconds that events gather before the page follows
const PACE = 1_000; // milliseconds between two rounds of asking again
const WRITTEN_WITHIN = 1_000; // milliseconds from the time that an event names until others can read what it tells of
const DOUBT = 30_000; // milliseconds after an event in which an answer that is not newer is asked for again

type Handler = (events: readonly YardEvent[]) => void;

/** Hands batches of events on, to the queries they change and to whoever listens. */
export class Hub {
  paused = false;
  readonly handlers = new Set<Handler>();
  private batch: YardEvent[] = [];
  private again = new Set<string>(); // queries that changed and could not be asked yet
  private doubted = new Set<string>(); // queries that were asked, and may have got what is old
  private newest = 0; // the latest time that an event named
  private lastHeard = 0;
  private timer: number | undefined;
  private lastRound = 0;
  private heldBack = 0;

  constructor(
    private readonly client: QueryClient,
    private readonly onHeldBack: (count: number) => void,
  ) {}

  heard(event: YardEvent): void {
    // Nothing has happened later than now: a time that lies ahead is of a clock that is wrong.
    this.newest = Math.max(this.newest, Math.min(Date.parse(event.at), serverNow()));
    this.lastHeard = Date.now();
    if (this.paused) {
      this.heldBack += 1;
      this.timer ??= window.setTimeout(() => this.tell(), PACE);
      return;
    }
    this.batch.push(event);
    this.timer ??= window.setTimeout(() => this.round(), Math.max(GATHER, this.lastRound + PACE - Date.now()));
  }

  /** The stream stands: of what happened since a query on the page was first asked, nobody has told. */
  begun(): void {
    for (const query of this.client.getQueryCache().findAll({ type: "active" })) this.again.add(query.queryHash);
    this.timer ??= window.setTimeout(() => this.round(), GATHER);
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    this.heldBack = 0;
    this.tell();
    this.everything();
    this.doubted = new Set(this.client.getQueryCache().findAll({ type: "active" }).filter(isKept).map(hashOf));
    this.timer ??= window.setTimeout(() => this.round(), PACE);
  }

  /** Ask for all that is on the page again: some events may have been missed. */
  everything(): void {
    if (!this.paused) void askAgain(this.client);
  }

  stop(): void {
    window.clearTimeout(this.timer);
  }

  private tell(): void {
    window.clearTimeout(this.timer);
    this.timer = undefined;
    this.onHeldBack(this.heldBack);
  }

  private round(): void {
    if (this.paused) {
      this.tell(); // all is asked again when it goes on
      return;
    }
    this.timer = undefined;
    this.lastRound = Date.now();
    const events = this.batch;
    this.batch = [];
    this.handlers.forEach((handler) => handler(events));
    const changed = this.client
      .getQueryCache()
      .findAll({ type: "active", predicate: (query) => this.isChanged(query, events) });
    const later = changed.filter((query) => !isAskable(query, this.lastRound));
    this.again = new Set(later.map(hashOf));
    this.doubted = new Set(changed.filter(isKept).map(hashOf));
    for (const query of changed)
      if (!later.includes(query)) void this.client.refetchQueries({ queryKey: query.queryKey, exact: true });
    if (this.again.size + this.doubted.size > 0) this.timer = window.setTimeout(() => this.round(), PACE);
  }

  private isChanged(query: Query, events: readonly YardEvent[]): boolean {
    const concerns = query.meta?.changesWith;
    if (concerns === undefined) return false;
    const isOld = this.doubted.has(query.queryHash) && !this.isUpToDate(query);
    return isOld || this.again.has(query.queryHash) || events.some(concerns);
  }

  /** Whether the answer is known to have been read after all that was heard, or has been asked for long enough.
   *
   * Where a clock was set back or the server refuses, no answer is newer: nobody is to ask for ever.
   */
  private isUpToDate(query: Query): boolean {
    const readAt = query.meta?.readAt?.(query.state.data);
    const isNewer = readAt !== undefined && Date.parse(readAt) >= this.newest + WRITTEN_WITHIN;
    return isNewer || Math.abs(Date.now() - this.lastHeard) > DOUBT;
  }
}

/** Whether the server may have kept the answer from before. */
function isKept(query: Query): boolean {
  return query.meta?.readAt !== undefined;
}

function hashOf(query: Query): string {
  return query.queryHash;
}

/** Ask for all that is on the page again, but for long lists: those would be asked page by page from their beginning. */
export async function askAgain(client: QueryClient): Promise<void> {
  await client.invalidateQueries({ type: "active", predicate: (query) => !isLongList(query.state.data) });
}

function isLongList(data: unknown): boolean {
  return typeof data === "object" && data !== null && "pages" in data && (data.pages as unknown[]).length > 1;
}

/** Whether asking again now would bring something new: one that is under way may bring what is old already. */
function isAskable(query: Query, now: number): boolean {
  return query.state.fetchStatus === "idle" && now - query.state.dataUpdatedAt >= (query.meta?.pace ?? 0);
}

interface Live {
  connection: Connection;
  paused: boolean;
  heldBack: number; // events since live updates were paused
  breaks: number; // times that the stream was broken, or stopped: some events may have been missed
  setPaused: (paused: boolean) => void;
  listen: (handler: Handler) => () => void;
}

const LiveContext = createContext<Live | null>(null);

export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>("connecting");
  const [paused, setPaused] = useState(false);
  const [heldBack, setHeldBack] = useState(0);
  const [breaks, setBreaks] = useState(0);
  const [hub] = useState(() => new Hub(client, setHeldBack));

  useEffect(() => {
    let hasStood = false;
    const feed = new EventFeed({
      heard: (event) => hub.heard(event),
      resumed() {
        setBreaks((before) => before + 1);
        hub.everything();
      },
      moved(now) {
        setConnection(now);
        if (now === "live" && !hasStood) hub.begun();
        hasStood ||= now === "live";
      },
    });
    feed.start();
    return () => {
      feed.stop();
      hub.stop();
    };
  }, [hub]);

  const live = useMemo<Live>(
    () => ({
      connection,
      paused,
      heldBack,
      breaks,
      setPaused(wanted) {
        setPaused(wanted);
        if (wanted) {
          hub.pause();
        } else {
          setBreaks((before) => before + 1);
          hub.resume();
        }
      },
      listen(handler) {
        hub.handlers.add(handler);
        return () => hub.handlers.delete(handler);
      },
    }),
    [connection, paused, heldBack, breaks, hub],
  );
  return <LiveContext value={live}>{children}</LiveContext>;
}

export function useLive(): Live {
  const live = use(LiveContext);
  if (live === null) throw new Error("useLive belongs inside LiveProvider");
  return live;
}

/** Hear every batch of events while the component is on the page; none while live updates are paused. */
export function useEvents(handler: Handler): void {
  const { listen } = useLive();
  const heard = useEffectEvent(handler);
  useEffect(() => listen((events) => heard(events)), [listen]);
}

/** How often to ask again for what no event tells of; never while live updates are paused. */
export function useEvery(milliseconds: number): number | false {
  return useLive().paused ? false : milliseconds;
}
