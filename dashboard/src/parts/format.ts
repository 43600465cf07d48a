/**
 * Times, spans, money and numbers in words, as the reader's language writes them. Nothing here reads a clock.
 *
 * Only this module and locale.ts use Intl, so that a strange language of the browser breaks no page.
 */
import { say } from "@/language/say";

import { LANGUAGE, LOCALE, ZONE } from "./locale";

const IN_ZONE = ZONE === undefined ? {} : { timeZone: ZONE };

const EXACT = new Intl.DateTimeFormat(LOCALE, {
  ...IN_ZONE,
  year: "numeric",
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
  fractionalSecondDigits: 3,
  timeZoneName: "short",
});
const CLOCK = new Intl.DateTimeFormat(LOCALE, {
  ...IN_ZONE,
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const DAY = new Intl.DateTimeFormat(LOCALE, { ...IN_ZONE, month: "short", day: "numeric" });
const DAY_AND_CLOCK = new Intl.DateTimeFormat(LOCALE, {
  ...IN_ZONE,
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});
const WHOLE_DAY = new Intl.DateTimeFormat("en-CA", { ...IN_ZONE, year: "numeric", month: "2-digit", day: "2-digit" });
const FIELD_CLOCK = new Intl.DateTimeFormat("en-GB", {
  ...IN_ZONE,
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});
const WEEKDAY_FORM = {
  weekday: "long",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
  timeZoneName: "short",
} as const;
const WEEKDAY = new Intl.DateTimeFormat(LOCALE, { ...WEEKDAY_FORM, ...IN_ZONE });
const COUNT = new Intl.NumberFormat(LOCALE);
const TENTHS = new Intl.NumberFormat(LOCALE, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const SHORT = new Intl.NumberFormat(LOCALE, { notation: "compact", maximumFractionDigits: 1 });

/** The exact time in the reader's own zone, and as it is stored. */
export function exactly(iso: string): string {
  return `${EXACT.format(new Date(iso))}\n${iso}`;
}

export function clockTime(iso: string): string {
  return CLOCK.format(new Date(iso));
}

export function dayOf(iso: string): string {
  return DAY.format(new Date(iso));
}

export function dayAndClock(iso: string): string {
  return DAY_AND_CLOCK.format(new Date(iso));
}

/** A moment in words, with its day of the week and its zone. */
export function dayInWords(iso: string, zone?: string): string {
  const format = zone === undefined ? WEEKDAY : new Intl.DateTimeFormat(LOCALE, { ...WEEKDAY_FORM, timeZone: zone });
  return format.format(new Date(iso));
}

/** The day that a moment is on, in the reader's zone: 2026-07-31. */
export function dateOf(at: string | number): string {
  return WHOLE_DAY.format(new Date(at));
}

/** A moment as a field of the browser's for times has it, in the reader's zone: 2026-07-31T09:30. */
export function toFieldTime(iso: string): string {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? "" : `${WHOLE_DAY.format(at)}T${FIELD_CLOCK.format(at)}`;
}

/** The moment that a field for times names in the reader's zone; nothing where it is empty. */
export function fromFieldTime(text: string): string | undefined {
  if (text === "") return undefined;
  // Taken as UTC, and moved by what the zone's clocks show other than UTC's: twice, for the first move may cross a change.
  const wanted = Date.parse(`${text}Z`);
  if (Number.isNaN(wanted)) return undefined;
  let at = wanted;
  for (let turn = 0; turn < 2; turn += 1) at += wanted - Date.parse(`${toFieldTime(new Date(at).toISOString())}Z`);
  return new Date(at).toISOString();
}

const UNITS: readonly [number, string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "m"],
];

/** A span of seconds in at most two units: `420 ms`, `8.4 s`, `3m 20s`, `2d 4h`. */
export function span(seconds: number): string {
  if (seconds < 0) return `−${span(-seconds)}`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${TENTHS.format(seconds)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  for (const [index, [size, unit]] of UNITS.entries()) {
    if (seconds < size) continue;
    const [below, small] = UNITS[index + 1] ?? [1, "s"];
    const rest = Math.floor((seconds % size) / below);
    return rest === 0 ? `${Math.floor(seconds / size)}${unit}` : `${Math.floor(seconds / size)}${unit} ${rest}${small}`;
  }
  return `${Math.floor(seconds)} s`;
}

/** How long ago, or how long until: in one unit, since it is drawn again as it grows. */
export function ago(milliseconds: number): string {
  const seconds = Math.abs(milliseconds) / 1000;
  if (seconds < 1) return say("now");
  const [size, unit] = UNITS.find(([each]) => seconds >= each) ?? [1, "s"];
  const words = `${Math.floor(seconds / size)}${unit}`;
  return milliseconds >= 0 ? say("{time} ago", { time: words }) : say("in {time}", { time: words });
}

const DOLLARS = { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol" } as const;
const EXACT_MONEY = new Intl.NumberFormat(LOCALE, { ...DOLLARS, minimumFractionDigits: 2, maximumFractionDigits: 6 });
const CENTS = new Intl.NumberFormat(LOCALE, { ...DOLLARS, minimumFractionDigits: 2, maximumFractionDigits: 2 });
const BELOW_A_CENT = new Intl.NumberFormat(LOCALE, { ...DOLLARS, maximumSignificantDigits: 1 });

/** Money as it is: exact to the digits that were stored, at least two and at most six of them. */
export function money(usd: string | number): string {
  // The text is formatted and not a number made from it: a number of that many digits would be another one.
  return EXACT_MONEY.format(String(usd) as `${number}`);
}

/** Money for a tight place: to the cent, and more digits only below one. */
export function cents(usd: string | number): string {
  const amount = Number(usd);
  return (amount !== 0 && Math.abs(amount) < 0.01 ? BELOW_A_CENT : CENTS).format(amount);
}

export function count(number: number): string {
  return COUNT.format(number);
}

const PERCENT = new Intl.NumberFormat(LOCALE, { style: "percent", maximumFractionDigits: 1 });
const DECIMAL = new Intl.NumberFormat(LOCALE, { maximumSignificantDigits: 3 });

/** A share of 1. */
export function percent(share: number): string {
  return PERCENT.format(share);
}

/** A number that is none of people or money, such as a score. */
export function decimal(number: number): string {
  return DECIMAL.format(number);
}

export function inShort(number: number): string {
  return number < 10_000 ? COUNT.format(number) : SHORT.format(number);
}

/** What models read and wrote; null where they did neither. Cached tokens are among those that were read. */
export function tokens(used: {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
}): string | null {
  if (used.input + used.output === 0) return null;
  const cached = [
    used.cache_read > 0 ? say("{number} from a cache", { number: inShort(used.cache_read) }) : "",
    used.cache_write > 0 ? say("{number} into a cache", { number: inShort(used.cache_write) }) : "",
  ].filter(Boolean);
  const facts = { input: inShort(used.input), output: inShort(used.output) };
  return cached.length > 0
    ? say("{input} in ({cached}), {output} out", { ...facts, cached: cached.join(", ") })
    : say("{input} in, {output} out", facts);
}

const ORDINALS = new Intl.PluralRules("en", { type: "ordinal" });
const ENDINGS: Partial<Record<Intl.LDMLPluralRule, string>> = { one: "st", two: "nd", few: "rd" };

/** `1st`, `22nd`, `13th`; in German `1.` */
export function ordinal(number: number): string {
  return LANGUAGE === "de" ? `${number}.` : `${number}${ENDINGS[ORDINALS.select(number)] ?? "th"}`;
}

/** An id short enough for a column: its end is what differs. */
export function shortId(id: string): string {
  const [kind, rest] = id.split(/_(.*)/s);
  return rest === undefined || rest.length <= 10 ? id : `${kind}_…${rest.slice(-6)}`;
}

const TIERS: readonly [number, string][] = [
  [10, say("critical")],
  [30, say("high")],
  [60, say("normal")],
  [80, say("low")],
];

/** The word that people have for a priority. */
export function tierOf(priority: number): string {
  return TIERS.find(([below]) => priority < below)?.[1] ?? say("background");
}
