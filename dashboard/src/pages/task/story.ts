/** What happened to a task, told from its events. Nothing here reads a clock. */
import type { TaskEvent } from "@/api/tasks";
import { span } from "@/parts/format";
import { progressOf, type Progress } from "@/parts/progress";

export interface Stretch {
  status: string;
  from: string;
  to: string | null; // it lasts
}

/** The states that a task was in, one after the other. */
export function stretchesOf(events: readonly TaskEvent[]): Stretch[] {
  const stretches: Stretch[] = [];
  for (const event of events) {
    const status = event.payload["status"];
    const last = stretches.at(-1);
    if (typeof status !== "string" || last?.status === status) continue;
    if (last !== undefined) last.to = event.at;
    stretches.push({ status, from: event.at, to: null });
  }
  return stretches;
}

/** What is said rather than done: messages, progress, steps. */
const SAID = new Set(["task.message", "task.progress", "task.step"]);

export function isSaid(event: TaskEvent): boolean {
  return SAID.has(event.event);
}

export interface Told {
  words: string;
  more: string; // what goes with it, in small
}

type Teller = (payload: Record<string, unknown>) => Told;

const TELLERS: Record<string, Teller> = {
  "task.created": (payload) => ({ words: "Put in", more: by(payload) }),
  "task.ready": (payload) => ({
    words: "Ready",
    more: payload["from"] === "retrying" ? "after its delay" : "nothing is in its way",
  }),
  "task.claimed": (payload) => ({ words: `Claimed by ${text(payload["agent"])}`, more: waited(payload) }),
  "task.running": (payload) => ({ words: `Started by ${text(payload["agent"])}`, more: waited(payload) }),
  "task.validating": () => ({ words: "Output handed in", more: "it is being validated" }),
  "task.completed": (payload) => ({ words: "Completed", more: ran(payload) }),
  "task.retrying": (payload) => ({
    words: `Failed: ${text(payload["reason"])}`,
    more: "it is tried again after a delay",
  }),
  "task.parked": () => ({ words: "Parked", more: "until there is money for it" }),
  "task.dead_lettered": (payload) => ({
    words: `Dead letter: ${text(payload["reason"])}`,
    more: payload["poison_pill"] === true ? "a poison pill: it failed under several agents" : "it waits for a person",
  }),
  "task.cancelled": (payload) => ({
    words: "Cancelled",
    more: text(payload["reason"] ?? payload["why"]) || by(payload),
  }),
  "task.released": (payload) => ({ words: "Given back", more: text(payload["agent"]) }),
  "task.suspended": (payload) => ({ words: "Suspended", more: `waits for ${names(payload["blockers"])}` }),
  "task.asked": (payload) => ({ words: "Asked", more: text(payload["question"]) }),
  "task.answered": (payload) =>
    payload["by"] === "timeout"
      ? {
          words: `Nobody answered ${text(payload["name"])}`,
          more: payload["default"] === true ? "its default counts" : "its time is over",
        }
      : { words: `Answered ${text(payload["name"])}`, more: by(payload) },
  "task.signalled": (payload) => ({ words: `Signal ${text(payload["name"] ?? payload["signal"])}`, more: by(payload) }),
  "task.reprioritised": (payload) => ({ words: `Priority ${text(payload["priority"])}`, more: by(payload) }),
  "task.revived": (payload) => ({ words: `Revived: ${text(payload["resolution"])}`, more: by(payload) }),
  "task.escalated": (payload) => ({ words: "Escalated", more: text(payload["note"]) || by(payload) }),
  "task.session": (payload) => ({ words: "Session pinned", more: text(payload["session_id"] ?? payload["session"]) }),
  "task.rerun": (payload) => ({ words: "Done again", more: [text(payload["task"]), by(payload)].join(" ") }),
  "task.adopted": () => ({ words: "Became part of a DAG", more: "" }),
  "task.needed": () => ({ words: "Needed by a task of another DAG", more: "" }),
};

export function tell(event: TaskEvent): Told {
  const teller = TELLERS[event.event];
  return (
    teller?.(event.payload) ?? {
      words: event.event.replace(/^task\./, "").replaceAll("_", " "),
      more: by(event.payload),
    }
  );
}

function text(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function by(payload: Record<string, unknown>): string {
  return payload["by"] === undefined || payload["by"] === null ? "" : `by ${text(payload["by"])}`;
}

function waited(payload: Record<string, unknown>): string {
  return typeof payload["waited"] === "number" ? `after ${span(payload["waited"] / 1e6)} in line` : "";
}

function ran(payload: Record<string, unknown>): string {
  return typeof payload["ran"] === "number" ? `in ${span(payload["ran"] / 1e6)}` : "";
}

function names(value: unknown): string {
  return Array.isArray(value) ? value.map((each) => text(each).replace(":", " ")).join(", ") : text(value);
}

/** What an agent said, as words. */
export function saying(event: TaskEvent): Told {
  const payload = event.payload;
  if (event.event === "task.step")
    return { words: `Step ${text(payload["name"] ?? payload["step"])} is done`, more: "step" };
  const progress = progressOf(payload["progress"]);
  if (progress !== null) return { words: farAs(progress), more: "progress" };
  const said = payload["text"] ?? payload["note"] ?? payload["message"] ?? rest(payload);
  return { words: text(said), more: text(payload["kind"] ?? payload["role"]) || event.event.replace("task.", "") };
}

function farAs({ fraction, note }: Progress): string {
  return [fraction === null ? "" : `${Math.round(fraction * 100)} %`, note].filter(Boolean).join(" · ");
}

/** What is in every event is no part of what was said. */
function rest(payload: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(payload).filter(([name]) => !["status", "attempt", "version"].includes(name)),
  );
}
