/** Characters that do something instead of showing something, written as escapes: the same as on a terminal. */

// C0 and C1, marks of direction and invisible ones, separators, embeddings, overrides, isolates, halves of a pair, tags.
// The joiners of scripts and emoji stay.
const OBEYED =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e007f}]/gu;

/** The text, with everything that a browser or a reader's eye would obey shown as an escape. */
export function visible(text: string): string {
  return text.replace(OBEYED, (found) =>
    Array.from({ length: found.length }, (_, place) => escaped(found.charCodeAt(place))).join(""),
  );
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
