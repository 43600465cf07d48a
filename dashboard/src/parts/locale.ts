/**
 * The language of the words, and the language and the time zone that numbers and times are written in.
 *
 * A browser may name any text: none may break a page.
 */

const FALLBACK = "en-US";
const WORDS_KEY = "taskyard-words";
const LANGUAGE_KEY = "taskyard-language";
const ZONE_KEY = "taskyard-zone";

/** The languages that the words of the page are there in. The first is their source. */
export const WRITTEN = ["en", "de"] as const;
export type Language = (typeof WRITTEN)[number];

/** The first of the languages that there are words in; English where there is none. */
export function usableLanguage(languages: readonly unknown[]): Language {
  for (const language of languages) {
    const found = WRITTEN.find((each) => each === languageOf(language));
    if (found !== undefined) return found;
  }
  return WRITTEN[0];
}

/** `de` of `de-CH`, `de_CH.UTF-8` and `DE`. */
function languageOf(language: unknown): string {
  return typeof language === "string" ? (/^[a-z]+(?=$|[-_@.])/i.exec(language)?.[0].toLowerCase() ?? "") : "";
}

/** The first of the languages that numbers and times can be written in; English where there is none. */
export function usableLocale(languages: readonly unknown[]): string {
  for (const language of languages) {
    const found = typeof language === "string" ? supported(language) : undefined;
    if (found !== undefined) return found;
  }
  return FALLBACK;
}

/** As a language tag: some browsers pass on what POSIX calls a locale, such as `de_CH.UTF-8` or `en-US@posix`. */
function supported(language: string): string | undefined {
  const [tag = ""] = language.split(/[@.]/);
  try {
    return Intl.NumberFormat.supportedLocalesOf(tag.replaceAll("_", "-"))[0];
  } catch {
    return undefined; // no language tag at all: `C`, or nothing
  }
}

/** A zone that times can be written in; none: the browser's own. */
export function usableZone(zone: string | null): string | undefined {
  if (zone === null || zone === "") return undefined;
  try {
    new Intl.DateTimeFormat(FALLBACK, { timeZone: zone });
    return zone;
  } catch {
    return undefined;
  }
}

/** Let the browser name a usable language: uPlot gives what it finds there to Intl as it is loaded, and would throw. */
export function repairLanguage(browser: Navigator, locale: string): void {
  if (browser.language !== locale) Object.defineProperty(browser, "language", { value: locale, configurable: true });
}

function stored(key: string): string | null {
  try {
    return typeof localStorage === "undefined" ? null : localStorage.getItem(key);
  } catch {
    return null; // storage is switched off
  }
}

export interface Choice {
  words: string; // "": as the browser says
  language: string; // of dates and numbers
  zone: string;
}

export function chosen(): Choice {
  return { words: stored(WORDS_KEY) ?? "", language: stored(LANGUAGE_KEY) ?? "", zone: stored(ZONE_KEY) ?? "" };
}

/** Kept in this browser. Words and formats are made once, as the page is loaded: it must be loaded again. */
export function choose({ words, language, zone }: Choice): void {
  localStorage.setItem(WORDS_KEY, words);
  localStorage.setItem(LANGUAGE_KEY, language);
  localStorage.setItem(ZONE_KEY, zone);
}

/** Every zone that the browser knows. */
export function zones(): string[] {
  const known = Intl.supportedValuesOf("timeZone");
  return known.includes("UTC") ? known : ["UTC", ...known];
}

/** What a language calls itself. */
export function nameOfLanguage(tag: string): string {
  return new Intl.DisplayNames([tag], { type: "language" }).of(tag) ?? tag;
}

// Where there is no navigator (Node 20, which runs the tests) there is no language to honour.
const languages = typeof navigator === "undefined" ? [] : [navigator.languages, navigator.language].flat();
export const LANGUAGE = usableLanguage([stored(WORDS_KEY), ...languages]);
// Who has chosen the words has numbers to fit: as the browser writes that language (de-CH), or else as it is usual.
const fitting = stored(WORDS_KEY) ? [...languages.filter((each) => languageOf(each) === LANGUAGE), LANGUAGE] : [];
export const LOCALE = usableLocale([stored(LANGUAGE_KEY), ...fitting, ...languages]);
export const ZONE = usableZone(stored(ZONE_KEY));
