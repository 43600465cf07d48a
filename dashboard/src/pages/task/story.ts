/** What happened to a task, told from its events. Nothing here reads a clock. */
import type { TaskEvent } from "@/api/tasks";
import { say } from "@/language/say";
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

interface Told {
  words: string;
  more: string; // what goes with it, in small
}

type Teller = (payload: Record<string, unknown>) => Told;

const TELLERS: Record<string, Teller> = {
  "task.created": (payload) => ({ words: say("Put in"), more: by(payload) }),
  "task.ready": (payload) => ({
    words: say("Ready"),
    more: payload["from"] === "retrying" ? say("after its delay") : say("nothing is in its way"),
  }),
  "task.claimed": (payload) => ({
    words: say("Claimed by {agent}", { agent: text(payload["agent"]) }),
    more: waited(payload),
  }),
  "task.running": (payload) => ({
    words: say("Started by {agent}", { agent: text(payload["agent"]) }),
    more: waited(payload),
  }),
  "task.validating": () => ({ words: say("Output handed in"), more: say("it is being validated") }),
  "task.completed": (payload) => ({ words: say("Completed"), more: ran(payload) }),
  "task.retrying": (payload) => ({
    words: say("Failed: {reason}", { reason: text(payload["reason"]) }),
    more: say("it is tried again after a delay"),
  }),
  "task.parked": () => ({ words: say("Parked"), more: say("until there is money for it") }),
  "task.dead_lettered": (payload) => ({
    words: say("Dead letter: {reason}", { reason: text(payload["reason"]) }),
    more:
      payload["poison_pill"] === true
        ? say("a poison pill: it failed under several agents")
        : say("it waits for a person"),
  }),
  "task.cancelled": (payload) => ({
    words: say("Cancelled"),
    more: text(payload["reason"] ?? payload["why"]) || by(payload),
  }),
  "task.released": (payload) => ({ words: say("Given back"), more: text(payload["agent"]) }),
  "task.suspended": (payload) => ({
    words: say("Suspended"),
    more: say("waits for {names}", { names: names(payload["blockers"]) }),
  }),
  "task.asked": (payload) => ({ words: say("Asked"), more: text(payload["question"]) }),
  "task.answered": (payload) =>
    payload["by"] === "timeout"
      ? {
          words: say("Nobody answered {question}", { question: text(payload["name"]) }),
          more: payload["default"] === true ? say("its default counts") : say("its time is over"),
        }
      : { words: say("Answered {question}", { question: text(payload["name"]) }), more: by(payload) },
  "task.signalled": (payload) => ({
    words: say("Signal {name}", { name: text(payload["name"] ?? payload["signal"]) }),
    more: by(payload),
  }),
  "task.reprioritised": (payload) => ({
    words: say("Priority {priority}", { priority: text(payload["priority"]) }),
    more: by(payload),
  }),
  "task.revived": (payload) => ({
    words: say("Revived: {resolution}", { resolution: text(payload["resolution"]) }),
    more: by(payload),
  }),
  "task.escalated": (payload) => ({ words: say("Escalated"), more: text(payload["note"]) || by(payload) }),
  "task.session": (payload) => ({
    words: say("Session pinned"),
    more: text(payload["session_id"] ?? payload["session"]),
  }),
  "task.rerun": (payload) => ({ words: say("Done again"), more: [text(payload["task"]), by(payload)].join(" ") }),
  "task.adopted": () => ({ words: say("Became part of a DAG"), more: "" }),
  "task.needed": () => ({ words: say("Needed by a task of another DAG"), more: "" }),
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
  return payload["by"] === undefined || payload["by"] === null ? "" : say("by {who}", { who: text(payload["by"]) });
}

function waited(payload: Record<string, unknown>): string {
  return typeof payload["waited"] === "number"
    ? say("after {waited} in line", { waited: span(payload["waited"] / 1e6) })
    : "";
}

function ran(payload: Record<string, unknown>): string {
  return typeof payload["ran"] === "number"
    ? say("in {time} // how long it took", { time: span(payload["ran"] / 1e6) })
    : "";
}

function names(value: unknown): string {
  return Array.isArray(value) ? value.map((each) => text(each).replace(":", " ")).join(", ") : text(value);
}

/** What an agent said, as words. */
export function saying(event: TaskEvent): Told {
  const payload = event.payload;
  if (event.event === "task.step")
    return { words: say("Step {step} is done", { step: text(payload["name"] ?? payload["step"]) }), more: "step" };
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
