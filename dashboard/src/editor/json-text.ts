/** JSON as somebody writes it: where a place in the text stands in the document, and where a member stands in the text. */

export type Path = readonly (string | number)[];

export interface Cursor {
  path: Path; // of the object or list that is written in; of the value, where one is expected
  expects: "key" | "value" | "nothing";
  prefix: string; // what is written of it already
  from: number; // where that begins, its quotation mark included
  isQuoted: boolean;
  used: readonly string[]; // the keys that the object has before this place
}

interface Frame {
  kind: "object" | "list";
  key: string | null; // whose value comes next
  index: number;
  used: string[];
  state: "key" | "colon" | "value" | "comma";
}

interface Scan {
  frames: Frame[];
  open: { from: number; text: string } | null; // a text that has no end yet
  word: { from: number; text: string } | null; // a number or a word that the scan ended in
}

/** Where the text stands at this place. What comes behind it does not matter, and nothing need be whole. */
export function cursorAt(text: string, at: number): Cursor {
  const { frames, open, word } = scanned(text.slice(0, at));
  const frame = frames.at(-1);
  const begun = open ?? word;
  const prefix = begun?.text ?? "";
  const place = { prefix, from: begun?.from ?? at, isQuoted: open !== null, used: frame?.used ?? [] };
  if (frame === undefined) return { ...place, path: [], expects: text.trim() === "" ? "value" : "nothing" };
  const path = pathOf(frames.slice(0, -1));
  if (frame.kind === "object" && frame.state === "key") return { ...place, path, expects: "key" };
  if (frame.state === "value") return { ...place, path: pathOf(frames), expects: "value" };
  return { ...place, path, expects: "nothing" };
}

/** Where the value of this path begins in the text; its nearest parent, where it is not there. */
export function placeOf(text: string, path: Path): number {
  const places = new Map<string, number>();
  scanned(text, (found, at) => places.set(JSON.stringify(found), at));
  for (let length = path.length; length > 0; length -= 1) {
    const at = places.get(JSON.stringify(path.slice(0, length)));
    if (at !== undefined) return at;
  }
  return 0;
}

/** The path that the server names a field by: `tasks[2].depends_on`. */
export function pathIn(field: string): Path {
  return [...field.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, name]) =>
    index === undefined ? (name ?? "") : Number(index),
  );
}

export function fieldOf(path: Path): string {
  return path.reduce<string>(
    (before, part) => (typeof part === "number" ? `${before}[${part}]` : before === "" ? part : `${before}.${part}`),
    "",
  );
}

export interface Line {
  line: number; // from 1
  column: number;
}

export function lineAt(text: string, at: number): Line {
  const before = text.slice(0, at).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

function pathOf(frames: readonly Frame[]): (string | number)[] {
  return frames.map((frame) => (frame.kind === "list" ? frame.index : (frame.key ?? "")));
}

function scanned(text: string, found: (path: Path, at: number) => void = () => undefined): Scan {
  const frames: Frame[] = [];
  let at = 0;

  function began(): void {
    if (frames.length > 0) found(pathOf(frames), at);
  }
  function ended(): void {
    const frame = frames.at(-1);
    if (frame !== undefined) frame.state = "comma";
  }

  while (at < text.length) {
    const sign = text.charAt(at);
    const frame = frames.at(-1);
    if (sign === '"') {
      const end = endOfText(text, at);
      if (end === null) return { frames, open: { from: at, text: text.slice(at + 1) }, word: null };
      if (frame?.kind === "object" && frame.state === "key") {
        frame.key = unquoted(text.slice(at, end));
        frame.used.push(frame.key);
        frame.state = "colon";
      } else {
        began();
        ended();
      }
      at = end;
      continue;
    }
    if (sign === "{" || sign === "[") {
      began();
      const kind = sign === "{" ? "object" : "list";
      frames.push({ kind, key: null, index: 0, used: [], state: kind === "object" ? "key" : "value" });
    } else if (sign === "}" || sign === "]") {
      frames.pop();
      ended();
    } else if (sign === ":" && frame !== undefined) {
      frame.state = "value";
    } else if (sign === "," && frame !== undefined) {
      frame.index += 1;
      frame.state = frame.kind === "object" ? "key" : "value";
    } else if (/[\w.+-]/.test(sign)) {
      const word = /^[\w.+-]+/.exec(text.slice(at))?.[0] ?? sign;
      if (at + word.length >= text.length) return { frames, open: null, word: { from: at, text: word } };
      began();
      ended();
      at += word.length;
      continue;
    }
    at += 1;
  }
  return { frames, open: null, word: null };
}

/** Behind the closing quotation mark; null where there is none on the line. */
function endOfText(text: string, from: number): number | null {
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at + 1;
    else if (text[at] === "\n") return null;
  }
  return null;
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text.slice(1, -1);
  }
}
