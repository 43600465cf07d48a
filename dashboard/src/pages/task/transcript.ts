/** What was said and done in a task, in one order: its events and what its attempts streamed. Nothing here draws. */
import type { Shapes } from "@/api/client";
import type { TaskEvent } from "@/api/tasks";
import { say } from "@/language/say";

import { saying, tell } from "./story";

export type Chunk = Shapes["StreamedChunk"];

export type EntryKind = "message" | "tool" | "step" | "progress" | "text" | "value" | "stdout" | "stderr" | "question";

export interface Entry {
  key: string;
  attempt: number | null;
  at: string;
  kind: EntryKind;
  who: string; // the small words before it
  text: string;
  step: string | null; // whose result belongs to it
}

const MOST = 400_000; // characters of a stream that are kept: the end of what was written

/** What an attempt has streamed so far: chunks of one kind that follow each other are one entry. */
export function grown(entries: readonly Entry[], chunk: Chunk): readonly Entry[] {
  if (chunk.kind === "message" || chunk.kind === "progress") return entries; // they are events too
  const kind = kindOf(chunk);
  const text = chunk.kind === "json" ? words(chunk.data) : chunk.text;
  const last = entries.at(-1);
  if (last?.attempt === chunk.attempt && last.kind === kind && kind !== "value" && kind !== "tool") {
    return kept([...entries.slice(0, -1), { ...last, text: last.text + text }]);
  }
  const entry = { key: `chunk ${chunk.place}`, attempt: chunk.attempt, at: chunk.at, kind, who: "", text, step: null };
  return kept([...entries, { ...entry, who: chunk.kind === "cut" ? "cut" : toolOf(chunk.data) }]);
}

function kindOf({ kind, data }: Chunk): EntryKind {
  if (kind === "stdout" || kind === "stderr") return kind;
  if (kind !== "json") return "text";
  return toolOf(data) === "" ? "value" : "tool";
}

/** The name of a tool, where a value says that it is a call of one. */
function toolOf(data: unknown): string {
  if (typeof data !== "object" || data === null) return "";
  const said = data as Record<string, unknown>;
  const type = said["type"];
  const isCall = typeof type === "string" && type.startsWith("tool");
  const tool = said["tool"] ?? said["tool_name"] ?? (isCall ? said["name"] : undefined);
  return typeof tool === "string" ? tool : "";
}

function kept(entries: readonly Entry[]): readonly Entry[] {
  let room = MOST;
  const found: Entry[] = [];
  for (const entry of entries.toReversed()) {
    if (room <= 0) break;
    found.push(entry.text.length > room ? { ...entry, text: entry.text.slice(-room) } : entry);
    room -= entry.text.length;
  }
  return found.length === entries.length && room >= 0 ? entries : found.reverse();
}

const TOLD = new Set(["task.asked", "task.answered", "task.signalled"]);

function entryOf(event: TaskEvent): Entry | null {
  const attempt = typeof event.payload["attempt"] === "number" ? event.payload["attempt"] : null;
  const entry = { key: `event ${event.seq}`, attempt, at: event.at, step: null };
  if (TOLD.has(event.event)) {
    const { words: what, more } = tell(event);
    return { ...entry, kind: "question", who: what, text: more };
  }
  switch (event.event) {
    case "task.step": {
      const name = words(event.payload["step"] ?? event.payload["name"] ?? "");
      return { ...entry, kind: /(^|\/)tool:/.test(name) ? "tool" : "step", who: name, text: "", step: name };
    }
    case "task.progress":
      return { ...entry, kind: "progress", who: "progress", text: saying(event).words };
    case "task.message": {
      const { words: text, more } = saying(event);
      return { ...entry, kind: /tool/.test(more) ? "tool" : "message", who: toolOf(event.payload) || more, text };
    }
    default:
      return null;
  }
}

/** Everything in the order in which it was said. What came at the same moment stays in the order of its source. */
export function transcriptOf(events: readonly TaskEvent[], streamed: readonly Entry[]): Entry[] {
  const told = events.map(entryOf).filter((entry) => entry !== null);
  return [...told, ...streamed].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

export const VIEWS = [
  { name: "all", label: say("All") },
  { name: "said", label: say("Said") },
  { name: "done", label: say("Tools and steps") },
  { name: "logs", label: say("Logs") },
] as const;

export type TranscriptView = (typeof VIEWS)[number]["name"];

const OF_VIEW: Record<TranscriptView, (kind: EntryKind) => boolean> = {
  all: () => true,
  said: (kind) => kind === "message" || kind === "text" || kind === "question" || kind === "progress",
  done: (kind) => kind === "tool" || kind === "step" || kind === "value",
  logs: (kind) => kind === "stdout" || kind === "stderr",
};

/** The entries of a view that have the searched words somewhere; in capitals or not. */
export function foundIn(entries: readonly Entry[], view: TranscriptView, search: string): Entry[] {
  const wanted = search.trim().toLowerCase();
  const has = ({ who, text }: Entry) => wanted === "" || `${who}\n${text}`.toLowerCase().includes(wanted);
  return entries.filter((entry) => OF_VIEW[view](entry.kind) && has(entry));
}

/** A text in pieces, of which every second one is what was searched for. */
export function piecesOf(text: string, search: string): string[] {
  const wanted = search.trim();
  if (wanted === "") return [text];
  const escaped = wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.split(new RegExp(`(${escaped})`, "giu"));
}

function words(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
