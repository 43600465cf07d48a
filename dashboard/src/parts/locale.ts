/** The language that numbers and times are written in. A browser may name any text as its language: none may break a page. */

const FALLBACK = "en-US";

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

/** Let the browser name a usable language: uPlot gives what it finds there to Intl as it is loaded, and would throw. */
export function repairLanguage(browser: Navigator, locale: string): void {
  if (browser.language !== locale) Object.defineProperty(browser, "language", { value: locale, configurable: true });
}

// Where there is no navigator (Node 20, which runs the tests) there is no language to honour.
const languages = typeof navigator === "undefined" ? [] : [navigator.languages, navigator.language].flat();
export const LOCALE = usableLocale(languages);
