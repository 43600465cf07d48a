import { afterEach, expect, test, vi } from "vitest";

import { usableLanguage, usableLocale } from "./locale";

const STRANGE = [
  "en-US@posix",
  "C",
  "",
  "x-klingon",
  "i",
  "*",
  "de-CH",
  "de_CH.UTF-8",
  "ar-EG",
  "xx-YY",
  "hi-u-nu-deva",
];

afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.resetModules();
});

test.each([
  [["en-US@posix"], "en-US"],
  [["de_CH.UTF-8"], "de-CH"],
  [["C", "fr-CA"], "fr-CA"],
  [["de-CH"], "de-CH"],
  [["x-klingon"], "en-US"],
  [["C"], "en-US"],
  [["POSIX"], "en-US"],
  [[""], "en-US"],
  [[undefined, null, 7], "en-US"],
  [[], "en-US"],
])("of the languages %j, %s is used", (languages, locale) => {
  expect(usableLocale(languages)).toBe(locale);
});

test.each([
  [["de-CH"], "de"],
  [["de_AT.UTF-8"], "de"],
  [["DE"], "de"],
  [["fr-FR", "de-DE", "en-US"], "de"],
  [["fr-FR"], "en"],
  [["en-US@posix"], "en"],
  [["deutsch", "den", "d", "*", ""], "en"],
  [[undefined, null, 7], "en"],
  [[], "en"],
])("where the languages are %j, the words are in %s", (languages, language) => {
  expect(usableLanguage(languages)).toBe(language);
});

test.each([
  [{ words: "de" }, "en-US", "de", "de"],
  [{ words: "de" }, "de-CH", "de", "de-CH"],
  [{ words: "en", language: "sv-SE" }, "de-DE", "en", "sv-SE"],
  [{ words: "klingon" }, "de-DE", "de", "de-DE"],
  [{}, "fr-FR", "en", "fr-FR"],
])("who has chosen %j in a browser of %s reads %s, with numbers as in %s", async (choice, browser, words, numbers) => {
  const kept = new Map(Object.entries(choice).map(([name, value]) => [`taskyard-${name}`, value]));
  vi.stubGlobal("localStorage", { getItem: (key: string) => kept.get(key) ?? null });
  vi.stubGlobal("navigator", { language: browser, languages: [browser] });
  const { LANGUAGE, LOCALE } = await import("./locale");

  expect([LANGUAGE, LOCALE]).toEqual([words, numbers]);
});

test.each(STRANGE)(
  "numbers and times are written, and uPlot is loaded, where the browser's language is %j",
  async (language) => {
    const browser = { language, languages: [language] } as unknown as Navigator;
    vi.stubGlobal("navigator", browser);
    const { LOCALE, repairLanguage } = await import("./locale");
    const { count, dayAndClock, exactly, inShort, money, span } = await import("./format");

    repairLanguage(browser, LOCALE);

    expect(() => new Intl.NumberFormat(browser.language)).not.toThrow();
    for (const words of [count(1234567), inShort(1234567), money("1234.5"), span(8.4)]) expect(words).not.toBe("");
    expect(dayAndClock("2026-11-16T05:00:00Z")).not.toBe("");
    expect(exactly("2026-11-16T05:00:00Z")).toContain("2026-11-16T05:00:00Z");
  },
);

test.each([
  ["de-CH", /^\$ 1['’]234\.50$/],
  ["de-DE", /^1\.234,50 \$$/],
  ["en-IN", /^\$1,234\.50$/],
  ["ar-EG", /^١٬٢٣٤٫٥٠ (US)?\$$/],
])("money is written as in %s, with one kind of digits and separators", async (language, words) => {
  vi.stubGlobal("navigator", { language, languages: [language] });
  const { cents, money } = await import("./format");

  expect(plain(money("1234.5"))).toMatch(words);
  expect(plain(cents("1234.5"))).toMatch(words);
});

test.each(["Garbage/Zone", ":/nope", "UTC+99", "", "Asia/Kathmandu", "Pacific/Apia", "Etc/GMT+12"])(
  "times are written in time zone %j",
  async (zone) => {
    vi.stubEnv("TZ", zone);
    const { clockTime, exactly } = await import("./format");

    expect(clockTime("2026-11-16T05:00:00Z")).toMatch(/^\d\d:\d\d:\d\d$/);
    expect(exactly("2026-11-16T05:00:00Z")).toContain("2026");
  },
);

/** Without the spaces and marks of direction that differ between releases of ICU. */
function plain(words: string): string {
  return words
    .replace(/[\u200e\u200f\u061c]/g, "")
    .replace(/\s/g, " ")
    .trim();
}
