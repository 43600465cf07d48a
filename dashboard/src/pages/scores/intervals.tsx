/** Means with their 95 % intervals, one line for each variant. */
import { say } from "@/language/say";
import { decimal, money, percent, span } from "@/parts/format";

import { lineOf, placeOn, type Interval, type Measure } from "./scale";

export const UNITS: Record<Measure["unit"], (value: number) => string> = {
  share: percent,
  usd: (value) => money(value.toFixed(4)),
  seconds: span,
  score: decimal,
};

export function Intervals({ measure }: { measure: Measure }) {
  const line = lineOf(measure);
  const words = UNITS[measure.unit];
  return (
    <figure className="intervals">
      <figcaption>{measure.name}</figcaption>
      <dl>
        {measure.intervals.map((interval, index) => (
          <div key={index}>
            <dt className="clip">{interval.variant ?? say("no variant")}</dt>
            <dd>
              <span className="intervals-room" aria-hidden>
                <Whisker interval={interval} line={line} />
              </span>
              <span className="number">{inWords(interval, words)}</span>
            </dd>
          </div>
        ))}
      </dl>
      <p className="intervals-axis quiet" aria-hidden>
        <span>{words(line.from)}</span>
        <span>{words(line.until)}</span>
      </p>
    </figure>
  );
}

export function inWords({ mean, low, high }: Omit<Interval, "variant">, words: (value: number) => string): string {
  if (mean === null) return "–";
  if (low === null || high === null) return words(mean);
  return say("{value} ({low} to {high})", { value: words(mean), low: words(low), high: words(high) });
}

function Whisker({
  interval: { mean, low, high },
  line,
}: {
  interval: Interval;
  line: { from: number; until: number };
}) {
  if (mean === null) return null;
  const [left, right] = [placeOn(line, low ?? mean), placeOn(line, high ?? mean)];
  return (
    <>
      <i className="intervals-bar" style={{ left: `${left * 100}%`, width: `${(right - left) * 100}%` }} />
      <i className="intervals-mean" style={{ left: `${placeOn(line, mean) * 100}%` }} />
    </>
  );
}
