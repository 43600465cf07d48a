/** Events in short, and as a command. */
import type { EventFilter, TailedEvent } from "@/live/tail";
import { quoted } from "@/parts/copy";
import type { Tone } from "@/parts/status";

const LEFT_OUT = new Set(["status", "attempt", "version", "type", "silent", "waited", "ran", "generation", "from"]);

/** What an event says beside what its line shows already. */
export function factsOf({ payload }: TailedEvent): string {
  return Object.entries(payload)
    .filter(([name, value]) => !LEFT_OUT.has(name) && value !== null && value !== "" && value !== false)
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

const TONES: readonly [RegExp, Tone][] = [
  [/dead_lettered|failed|refused|\.gone$|opened$|parked$/, "bad"],
  [/retrying|cancel|slowdown|paused|draining/, "warn"],
  [/completed|closed$|delivered|resumed|answered/, "good"],
  [/claimed|running|validating/, "busy"],
];

export function toneOf(event: string): Tone {
  return TONES.find(([words]) => words.test(event))?.[1] ?? "calm";
}

const OPTIONS: Record<keyof EventFilter, string> = {
  event: "--event",
  task_type: "--type",
  agent: "--agent",
  subject: "--subject",
  dag_id: "--dag",
  task_id: "",
};

export function asCommand(filter: EventFilter): string {
  const options = Object.entries(filter).flatMap(([name, value]) => [
    OPTIONS[name as keyof EventFilter],
    quoted(value),
  ]);
  return ["taskyard events --follow", ...options].filter((word) => word !== "").join(" ");
}
