/** Schedules and triggers in plain words. */
import type { Schedule, Trigger } from "@/api/sources";
import { say } from "@/language/say";
import { money, ordinal, span } from "@/parts/format";

const DAYS = [
  say("Sunday"),
  say("Monday"),
  say("Tuesday"),
  say("Wednesday"),
  say("Thursday"),
  say("Friday"),
  say("Saturday"),
  say("Sunday"),
];
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
  if (isDaily && weekday === "*" && everyHours && minute === "0")
    return say("every {number} hours", { number: Number(everyHours[1]) });
  if (!NUMBER.test(minute) || !NUMBER.test(hour) || month !== "*") return `cron ${cron}`;
  const time = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (day === "*") return onDays(weekday, time) ?? `cron ${cron}`;
  if (!NUMBER.test(day) || weekday !== "*") return `cron ${cron}`;
  return say("every month on the {day} at {time}", { day: ordinal(Number(day)), time });
}

function withinTheHour(minute: string): string | null {
  if (minute === "*") return say("every minute");
  const steps = /^\*\/(\d+)$/.exec(minute);
  if (steps) return say("every {number} minutes", { number: Number(steps[1]) });
  return NUMBER.test(minute) ? say("every hour at :{minute}", { minute: minute.padStart(2, "0") }) : null;
}

function onDays(weekday: string, time: string): string | null {
  if (weekday === "*") return say("every day at {time}", { time });
  if (weekday === "1-5") return say("every weekday at {time}", { time });
  const names = weekday.split(",").map((each) => (NUMBER.test(each) ? DAYS[Number(each)] : undefined));
  return names.every((name) => name !== undefined)
    ? say("every {days} at {time}", { days: listed(names), time })
    : null;
}

/** What it listens to. */
export function triggerInWords({ source, settings, path }: Pick<Trigger, "source" | "settings" | "path">): string {
  switch (source) {
    case "webhook": {
      const to = { to: `/api/hooks/${path}` };
      return settings["scheme"] === "github"
        ? say("When GitHub delivers to {to}", to)
        : say("When a signed delivery comes to {to}", to);
    }
    case "files":
      return say("When a file like {patterns} in {path} is {changes}", {
        patterns: words(settings["patterns"]),
        path: words(settings["path"]),
        changes: words(settings["changes"]),
      });
    case "dag":
      return say("When a DAG {which}is {status}", { which: dagInWords(settings), status: words(settings["status"]) });
    case "rule":
      return ruleInWords(settings);
    default:
      return source;
  }
}

function dagInWords({ title, tag, type }: Record<string, unknown>): string {
  return [
    typeof title === "string" && say("titled “{title}”", { title }),
    typeof tag === "string" && say("with tag {tag}", { tag }),
    typeof type === "string" && say("that ends in a task of type {type}", { type }),
  ]
    .filter((each) => each !== false)
    .map((each) => `${each} `)
    .join("");
}

const MEASURES: Record<string, string> = {
  failure_rate: say("the share of failed attempts"),
  cost_usd: say("the mean cost of attempts"),
  duration_sec: say("the mean duration of attempts"),
};

function ruleInWords({ measure, type, above, over, window_sec: pause }: Record<string, unknown>): string {
  const name = MEASURES[String(measure)] ?? String(measure);
  const what = typeof type === "string" ? say("{what} at tasks of type {type}", { what: name, type }) : name;
  const facts = { what, limit: limitInWords(measure, Number(above)), number: Number(over) };
  if (Number(pause) === DAY)
    return say("When {what} is above {limit} over {number} of them, at most once a day", facts);
  const time = span(Number(pause));
  return say("When {what} is above {limit} over {number} of them, at most once in {time}", { ...facts, time });
}

function limitInWords(measure: unknown, limit: number): string {
  if (measure === "failure_rate") return `${Math.round(limit * 1000) / 10} %`;
  return measure === "cost_usd" ? money(limit) : span(limit);
}

/** Conditions on what came. */
export function conditionsInWords(only: Record<string, unknown>): string[] {
  return Object.entries(only).map(([path, wanted]) => {
    if (Array.isArray(wanted))
      return say("{path} is {value}", { path, value: wanted.map(String).join(` ${say("or")} `) });
    if (typeof wanted === "object" && wanted !== null)
      return "exists" in wanted && wanted.exists
        ? say("{path} is there", { path })
        : say("{path} is not there", { path });
    return say("{path} is {value}", { path, value: String(wanted) });
  });
}

/** What comes of it. */
export function makesInWords(template: Record<string, unknown>): string {
  const { task, dag } = template as { task?: Record<string, unknown>; dag?: { title?: unknown; tasks?: unknown[] } };
  if (dag === undefined) return say("a task of type {type}", { type: String(task?.["type"]) });
  const words = say("a DAG of {tasks|# task|# tasks}", { tasks: dag.tasks?.length ?? 0 });
  return typeof dag.title === "string" ? `${words}, “${dag.title}”` : words;
}

function words(value: unknown): string {
  return Array.isArray(value) ? listed(value.map(String), say("or")) : String(value);
}

function listed(names: readonly (string | undefined)[], last: string = say("and")): string {
  return names.length < 2 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} ${last} ${names.at(-1)}`;
}
