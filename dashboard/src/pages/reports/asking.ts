/** What a report is asked for, as it stands in the address; and the command and the call that give the same. */
import type { Asked, ReportField, ReportFilter } from "@/api/reports";
import { say } from "@/language/say";
import { quoted } from "@/parts/copy";

export const REPORT_FIELDS: readonly ReportField[] = ["type", "agent", "queue", "subject", "tag", "reason"];

export const GROUPINGS = ["day", "type", "agent", "model", "tag", "queue", "variant", "subject", "reason"] as const;
const SHARES = ["p50", "p90", "p95", "p99"] as const;
export const MEASURES = [
  ...["tasks", "attempts", "completed", "failed", "cost", "duration", "wait"],
  ...["duration", "wait", "cost"].flatMap((name) => SHARES.map((share) => `${name}_${share}`)),
] as const;
export const SOURCES = ["attempts", "days"] as const;
export const PERIODS = [1, 7, 30, 90, 400] as const;
const USUAL = {
  attempts: ["attempts", "completed", "failed", "cost", "duration_p50", "duration_p95"],
  days: ["cost"],
};
const HOUR = 3_600_000;
export const MOST_GROUPINGS = 3;

export interface Question extends Asked {
  period: number | null; // days back from now; null: between the moments in the address
  chart: string; // the measure that is drawn
}

/** `now` is the server's time in milliseconds. The address may have been written by hand: what is unknown is left out. */
export function questionOf(params: URLSearchParams, now: number): Question {
  const source = params.get("source") === "days" ? "days" : "attempts";
  const by = known(params.getAll("by"), GROUPINGS).slice(0, MOST_GROUPINGS);
  const named = known(params.getAll("measure"), MEASURES);
  const measures = named.length > 0 ? named : USUAL[source];
  const since = params.get("since");
  const until = params.get("until");
  const period = since === null ? (PERIODS.find((each) => String(each) === params.get("days")) ?? 7) : null;
  const filter: ReportFilter = {};
  for (const name of REPORT_FIELDS) {
    const value = params.get(name);
    if (value !== null && value !== "") filter[name] = value;
  }
  const chart = params.get("chart") ?? "";
  return {
    source,
    by: by.length > 0 ? by : params.has("by") ? [] : ["type"],
    measures,
    // To the hour, so that the same answer serves for a while.
    since: since ?? new Date(Math.floor(now / HOUR) * HOUR - (period ?? 7) * 24 * HOUR).toISOString(),
    ...(until !== null && until !== "" && { until }),
    filter,
    period,
    chart: measures.includes(chart) ? chart : (measures[0] ?? "attempts"),
  };
}

function known(given: readonly string[], words: readonly string[]): string[] {
  return [...new Set(given)].filter((each) => words.includes(each));
}

function pairs({ source, by, measures, since, until, filter }: Question, measure: "measure" | "measures") {
  const { type, ...rest } = filter;
  return [
    ...by.map((each) => ["by", each] as const),
    ...measures.map((each) => [measure, each] as const),
    ...(source === "attempts" ? [] : [["source", source] as const]),
    ["since", since] as const,
    ...(until === undefined ? [] : [["until", until] as const]),
    ...(type?.split(/\s+/) ?? []).map((each) => ["type", each] as const),
    ...Object.entries(rest),
  ];
}

export function asCommand(question: Question): string {
  const options = pairs(question, "measure");
  return ["taskyard report", ...options.map(([name, value]) => `--${name} ${quoted(value)}`)].join(" ");
}

export function asPath(question: Question): string {
  const query = new URLSearchParams();
  for (const [name, value] of pairs(question, "measures")) query.append(name, value);
  return `/api/reports?${query.toString()}`;
}

const WORDS: Record<string, string> = {
  tasks: say("Tasks"),
  attempts: say("Attempts"),
  completed: say("Completed"),
  failed: say("Failed"),
  cost: say("Cost"),
  duration: say("Duration"),
  wait: say("Wait"),
};

export function measureWords(measure: string): string {
  const [name = "", share] = measure.split("_");
  const word = WORDS[name] ?? name;
  if (share !== undefined) return `${word} ${share}`;
  return name === "cost" || name === "duration" || name === "wait" ? say("{measure}, sum", { measure: word }) : word;
}
