/** Schedules and triggers in plain words. */
import type { Schedule, Trigger } from "@/api/sources";
import { money, ordinal, span } from "@/parts/format";

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const DAY = 86_400; // seconds
const NUMBER = /^\d+$/;

/** When it fires: as its author said it, or what the cron expression comes to. */
export function whenInWords({ when, cron, timezone }: Pick<Schedule, "when" | "cron" | "timezone">): string {
  if (cron === null || /[a-z]{4,}/i.test(when.replace(timezone, ""))) return when;
  return `${cronInWords(cron)}, ${timezone}`;
}

/** The common forms of cron in words; what is not among them is left as it is. */
export function cronInWords(cron: string): string {
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = cron.split(/\s+/);
  const isDaily = day === "*" && month === "*";
  if (isDaily && weekday === "*" && hour === "*") return withinTheHour(minute) ?? `cron ${cron}`;
  const everyHours = /^\*\/(\d+)$/.exec(hour);
  if (isDaily && weekday === "*" && everyHours && minute === "0") return `every ${everyHours[1]} hours`;
  if (!NUMBER.test(minute) || !NUMBER.test(hour) || month !== "*") return `cron ${cron}`;
  const time = `at ${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (day !== "*")
    return NUMBER.test(day) && weekday === "*" ? `every month on the ${ordinal(Number(day))} ${time}` : `cron ${cron}`;
  const days = daysInWords(weekday);
  return days === null ? `cron ${cron}` : `every ${days} ${time}`;
}

function withinTheHour(minute: string): string | null {
  if (minute === "*") return "every minute";
  const steps = /^\*\/(\d+)$/.exec(minute);
  if (steps) return `every ${steps[1]} minutes`;
  return NUMBER.test(minute) ? `every hour at :${minute.padStart(2, "0")}` : null;
}

function daysInWords(weekday: string): string | null {
  if (weekday === "*") return "day";
  if (weekday === "1-5") return "weekday";
  const names = weekday.split(",").map((each) => (NUMBER.test(each) ? DAYS[Number(each)] : undefined));
  return names.every((name) => name !== undefined) ? listed(names) : null;
}

/** What it listens to. */
export function triggerInWords({ source, settings, path }: Pick<Trigger, "source" | "settings" | "path">): string {
  switch (source) {
    case "webhook":
      return `When ${settings["scheme"] === "github" ? "GitHub delivers" : "a signed delivery comes"} to /api/hooks/${path}`;
    case "files":
      return `When a file like ${words(settings["patterns"])} in ${words(settings["path"])} is ${words(settings["changes"])}`;
    case "dag":
      return `When a DAG${dagInWords(settings)} is ${words(settings["status"])}`;
    case "rule":
      return ruleInWords(settings);
    default:
      return source;
  }
}

function dagInWords({ title, tag, type }: Record<string, unknown>): string {
  return [
    typeof title === "string" && ` titled “${title}”`,
    typeof tag === "string" && ` with tag ${tag}`,
    typeof type === "string" && ` that ends in a task of type ${type}`,
  ]
    .filter(Boolean)
    .join("");
}

const MEASURES: Record<string, string> = {
  failure_rate: "the share of failed attempts",
  cost_usd: "the mean cost of attempts",
  duration_sec: "the mean duration of attempts",
};

function ruleInWords({ measure, type, above, over, window_sec: pause }: Record<string, unknown>): string {
  const what = MEASURES[String(measure)] ?? String(measure);
  const whose = typeof type === "string" ? ` at tasks of type ${type}` : "";
  return `When ${what}${whose} is above ${limitInWords(measure, Number(above))} over ${String(over)} of them, at most once ${Number(pause) === DAY ? "a day" : `in ${span(Number(pause))}`}`;
}

function limitInWords(measure: unknown, limit: number): string {
  if (measure === "failure_rate") return `${Math.round(limit * 1000) / 10} %`;
  return measure === "cost_usd" ? money(limit) : span(limit);
}

/** Conditions on what came. */
export function conditionsInWords(only: Record<string, unknown>): string[] {
  return Object.entries(only).map(([path, wanted]) => {
    if (Array.isArray(wanted)) return `${path} is ${wanted.map(String).join(" or ")}`;
    if (typeof wanted === "object" && wanted !== null)
      return `${path} is ${"exists" in wanted && wanted.exists ? "" : "not "}there`;
    return `${path} is ${String(wanted)}`;
  });
}

/** What comes of it. */
export function makesInWords(template: Record<string, unknown>): string {
  const { task, dag } = template as { task?: Record<string, unknown>; dag?: { title?: unknown; tasks?: unknown[] } };
  if (dag !== undefined)
    return `a DAG of ${dag.tasks?.length ?? 0} tasks${typeof dag.title === "string" ? `, “${dag.title}”` : ""}`;
  return `a task of type ${String(task?.["type"])}`;
}

function words(value: unknown): string {
  return Array.isArray(value) ? listed(value.map(String), "or") : String(value);
}

function listed(names: readonly (string | undefined)[], last = "and"): string {
  return names.length < 2 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} ${last} ${names.at(-1)}`;
}
