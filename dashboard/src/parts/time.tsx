import { say } from "@/language/say";
import { useNow } from "@/live/clock";

import { ago, clockTime, dateOf, dayAndClock, exactly, span } from "./format";

/** A moment: how long ago, with the exact time on hover. */
export function Ago({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (at === null || at === undefined) return <span className="quiet">—</span>;
  return (
    <time dateTime={at} title={exactly(at)}>
      {ago(now - Date.parse(at))}
    </time>
  );
}

/** A moment by the clock in the reader's zone; with the date where it is not today's. */
export function At({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (at === null || at === undefined) return <span className="quiet">—</span>;
  const isToday = dateOf(at) === dateOf(now);
  return (
    <time dateTime={at} title={exactly(at)}>
      {isToday ? clockTime(at) : dayAndClock(at)}
    </time>
  );
}

/** How long something took, or has been taking while it has no end. */
export function Lasted({ from, to }: { from: string | null | undefined; to?: string | null | undefined }) {
  const now = useNow();
  if (from === null || from === undefined) return <span className="quiet">—</span>;
  const end = to === null || to === undefined ? now : Date.parse(to);
  return (
    <span title={say("from {time}", { time: exactly(from) })}>{span(Math.max(0, end - Date.parse(from)) / 1000)}</span>
  );
}

export function Seconds({ value }: { value: number | null | undefined }) {
  if (value === null || value === undefined) return <span className="quiet">—</span>;
  return <span title={`${value} s`}>{span(value)}</span>;
}
