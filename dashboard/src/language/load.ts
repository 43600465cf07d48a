/** Brings the words of the reader's language, where they are not in the page itself. */
import { LANGUAGE } from "@/parts/locale";

import { speak } from "./say";

/** Must end before the rest of the page is loaded. Without an answer the page is in English, and not broken. */
export async function loadWords(): Promise<void> {
  document.documentElement.lang = LANGUAGE;
  if (LANGUAGE === "en") return;
  try {
    speak((await import("./german/german")).german);
  } catch {
    document.documentElement.lang = "en";
  }
}
