/** Dead letters that died of the same thing, found by type, reason and error without what differs by chance. */
import type { Shapes } from "@/api/client";
import { gathered } from "@/parts/gather";

export type DeadLetter = Shapes["TaskDetails"];

export interface Group {
  name: string;
  letters: DeadLetter[]; // newest first
}

const LONGEST = 200;

// In this order: an address is more than its numbers.
const BY_CHANCE: [RegExp, string][] = [
  [/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, "#"],
  [/\b(?:[a-z]+_)?[0-9A-HJKMNP-TV-Z]{26}\b/g, "#"],
  [/\b(?:\d{1,3}\.){3}\d{1,3}\b/g, "#"],
  [/\b0x[0-9a-f]+\b/gi, "#"],
  [/\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b/gi, "#"],
  [/\d+(?:\.\d+)?/g, "#"],
  [/(["'`])(?:(?!\1).){1,200}?\1/g, "$1…$1"],
  [/\s+/g, " "],
];

/** The first line of an error without numbers, ids, addresses and quoted words. */
export function withoutChance(error: string): string {
  const [line = ""] = error.trim().split("\n", 1);
  return BY_CHANCE.reduce((text, [pattern, instead]) => text.replace(pattern, instead), line.slice(0, 2 * LONGEST))
    .slice(0, LONGEST)
    .trim()
    .toLowerCase();
}

/** The largest group first; among equals, the one with the newest letter. */
export function grouped(letters: readonly DeadLetter[]): Group[] {
  const groups = gathered(letters, (letter) =>
    JSON.stringify([letter.type, reasonOf(letter), withoutChance(errorOf(letter))]),
  );
  return [...groups]
    .map(([name, alike]) => ({ name, letters: alike }))
    .sort((a, b) => b.letters.length - a.letters.length);
}

export function reasonOf(letter: DeadLetter): string {
  return letter.dead?.reason ?? letter.failure?.reason ?? "unknown";
}

export function errorOf(letter: DeadLetter): string {
  return letter.failure?.error ?? "";
}
