/** A stretch of time that a list is of: the last hours or days, or from one moment to another. */
import { useId } from "react";

import { say } from "@/language/say";
import { serverNow } from "@/live/clock";

import { fromFieldTime, toFieldTime } from "./format";

import "./time-range.css";

interface Range {
  since?: string | undefined;
  until?: string | undefined;
}

const LAST: readonly [string, number][] = [
  [say("Last hour"), 3_600],
  [say("Last 24 hours"), 86_400],
  [say("Last 7 days"), 7 * 86_400],
];

interface TimeRangeProps extends Range {
  onChange: (range: Range) => void;
}

/** The moments are in the address, not "the last hour": who opens it later sees the same list. */
export function TimeRange({ since, until, onChange }: TimeRangeProps) {
  const field = useId();
  return (
    <fieldset className="time-range">
      <legend>{say("Put in")}</legend>
      <div className="time-range-last">
        {LAST.map(([words, seconds]) => (
          <button
            key={words}
            type="button"
            className="button small"
            onClick={() => onChange({ since: minuteOf(serverNow() - seconds * 1000), until: undefined })}
          >
            {words}
          </button>
        ))}
      </div>
      <label htmlFor={`${field}-since`}>{say("from")}</label>
      <input
        id={`${field}-since`}
        type="datetime-local"
        value={since === undefined ? "" : toFieldTime(since)}
        onChange={(event) => onChange({ since: fromFieldTime(event.target.value), until })}
      />
      <label htmlFor={`${field}-until`}>{say("until")}</label>
      <input
        id={`${field}-until`}
        type="datetime-local"
        value={until === undefined ? "" : toFieldTime(until)}
        onChange={(event) => onChange({ since, until: fromFieldTime(event.target.value) })}
      />
    </fieldset>
  );
}

function minuteOf(milliseconds: number): string {
  return new Date(Math.floor(milliseconds / 60_000) * 60_000).toISOString();
}
