/** Characters that do something instead of showing something, written as escapes: the same as on a terminal. */
import { OBEYED } from "./obeyed";

/** The text, with everything that a browser or a reader's eye would obey shown as an escape. */
export function visible(text: string): string {
  return text.replace(OBEYED, (found) =>
    Array.from({ length: found.length }, (_, place) => escaped(found.charCodeAt(place))).join(""),
  );
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
