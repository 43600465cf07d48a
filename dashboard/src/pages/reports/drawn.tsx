/** A report as a picture: over the days where it is by day, else as bars. */
import type { Report, ReportRow } from "@/api/reports";
import { say } from "@/language/say";
import { Chart, type Series } from "@/parts/chart";
import { cents, inShort, span } from "@/parts/format";
import { Shares } from "@/parts/shares";

import { measureWords } from "./asking";

const TONES: readonly Series["tone"][] = ["accent", "good", "warn", "sky", "busy", "bad"];
const BARS = 12;
const NONE = say("none");

function nameOfGroup(group: readonly (string | null)[]): string {
  return group.map((each) => each ?? NONE).join(" · ");
}

export function inWords(measure: string, value: number | null): string {
  if (value === null) return "–";
  if (measure.startsWith("cost")) return cents(value);
  return measure.startsWith("duration") || measure.startsWith("wait") ? span(value) : inShort(value);
}

export function Drawn({ report, measure }: { report: Report; measure: string }) {
  const place = report.measures.indexOf(measure);
  const value = (row: ReportRow) => row.values[place] ?? null;
  const day = report.by.indexOf("day");
  if (day === -1) {
    return (
      <Shares
        shares={report.rows.slice(0, BARS).map((row) => ({
          name: nameOfGroup(row.group),
          label: nameOfGroup(row.group),
          amount: value(row) ?? 0,
          words: inWords(measure, value(row)),
        }))}
      />
    );
  }
  const days = [...new Set(report.rows.map((row) => row.group[day] ?? ""))];
  const others = seriesOf(report.rows, day, value);
  const isSum = !measure.includes("_p");
  return (
    <Chart
      label={say("{measure} by day", { measure: measureWords(measure) })}
      at={days.map((each) => `${each}T00:00:00Z`)}
      series={others.map(([name, values], index) => ({
        name: name === "" ? measureWords(measure) : name,
        tone: TONES[index] ?? "calm",
        values: days.map((each) => values.get(each) ?? null),
      }))}
      kind={isSum && others.length === 1 ? "bars" : "line"}
      unit={(amount) => inWords(measure, amount)}
      height={220}
      byDay
    />
  );
}

/** The largest of what else the rows are by, each with its value of each day. */
function seriesOf(rows: readonly ReportRow[], day: number, value: (row: ReportRow) => number | null) {
  const found = new Map<string, Map<string, number | null>>();
  for (const row of rows) {
    const name = nameOfGroup(row.group.filter((_, index) => index !== day));
    const values = found.get(name) ?? new Map<string, number | null>();
    values.set(row.group[day] ?? "", value(row));
    found.set(name, values);
  }
  const sum = (values: Map<string, number | null>) => [...values.values()].reduce((a: number, b) => a + (b ?? 0), 0);
  return [...found].sort(([, one], [, other]) => sum(other) - sum(one)).slice(0, TONES.length);
}
