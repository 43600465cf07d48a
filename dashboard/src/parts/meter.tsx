import { say } from "@/language/say";

import { cents } from "./format";

import "./meter.css";

interface MeterProps {
  label: string;
  spent: string | number;
  of: string | number | null; // null: no limit
  held?: string | number; // reserved beside what is spent
  unit?: (amount: number) => string;
}

const TIGHT = 0.8; // from there on it is worth a look

/** What is left of a limit. */
export function LeftMeter({ label, left, of }: { label: string; left: string | number; of: string | number }) {
  const limit = Number(of);
  const rest = Math.max(Number(left), 0);
  const share = limit === 0 ? 0 : Math.min(rest / limit, 1);
  const tone = share <= 0 ? "tone-bad" : share <= 1 - TIGHT ? "tone-warn" : "";
  return (
    <span className="meter-line">
      <span
        className={`meter ${tone}`}
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={rest}
        aria-valuetext={say("{used} of {limit}", { used: cents(rest), limit: cents(limit) })}
      >
        <span style={{ width: `${share * 100}%` }} />
      </span>
      <span className="quiet">{say("of {limit}", { limit: cents(limit) })}</span>
    </span>
  );
}

/** How much of a limit is used. */
export function Meter({ label, spent, of, held = 0, unit = cents }: MeterProps) {
  if (of === null) return <span className="quiet">{say("no limit")}</span>;
  const limit = Number(of);
  const used = Number(spent) + Number(held);
  const share = limit === 0 ? 1 : used / limit;
  const tone = share >= 1 ? "tone-bad" : share >= TIGHT ? "tone-warn" : "";
  return (
    <span className="meter-line">
      <span
        className={`meter ${tone}`}
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={Math.min(used, limit)}
        aria-valuetext={say("{used} of {limit}", { used: unit(used), limit: unit(limit) })}
      >
        <span style={{ width: `${Math.min(share, 1) * 100}%` }} />
      </span>
      <span className="quiet">{unit(limit)}</span>
    </span>
  );
}
