import { say } from "@/language/say";
import { useNow } from "@/live/clock";

import { exactly, span } from "./format";

/** A countdown to a moment, by the server's clock: drawn again every second. */
export function Until({ at, over = say("now") }: { at: string; over?: string }) {
  const left = (Date.parse(at) - useNow()) / 1000;
  return (
    <time className="until" dateTime={at} title={exactly(at)}>
      {left < 1 ? over : say("in {time}", { time: span(Math.floor(left)) })}
    </time>
  );
}
