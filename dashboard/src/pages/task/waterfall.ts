/** The attempts at a task and the steps in them, as rows over time. Nothing here draws or reads a clock. */
import type { Step, TaskDetails } from "@/api/tasks";
import { say } from "@/language/say";

export interface WaterfallRow {
  key: string;
  name: string;
  kind: "attempt" | "step" | "call" | "tool";
  attempt: number;
  status: string; // of an attempt; of a step, completed
  from: number | null; // milliseconds; null: nobody has said
  to: number | null; // null: it goes on, or nobody has said
  model: string | null;
  costUsd: string | null;
  tokens: [number, number] | null; // in and out
}

/** Attempts in their order, each followed by its steps in the order in which they began. */
export function rowsOf(task: TaskDetails, steps: readonly Step[]): WaterfallRow[] {
  const attempts = [...task.history.map(ended), ...(task.claim === null ? [] : [underWay(task)])];
  return attempts.flatMap((attempt) => [
    attempt,
    ...steps
      .filter((step) => step.attempt === attempt.attempt)
      .map(rowOf)
      .sort((a, b) => (a.from ?? a.to ?? 0) - (b.from ?? b.to ?? 0)),
  ]);
}

function ended({ attempt, outcome, claimed_at, started_at, ended_at, ...rest }: TaskDetails["history"][number]) {
  return {
    key: `attempt ${attempt}`,
    name: say("Attempt {attempt}", { attempt: attempt }),
    kind: "attempt" as const,
    attempt,
    status: outcome,
    from: Date.parse(started_at ?? claimed_at),
    to: Date.parse(ended_at),
    model: rest.model,
    costUsd: rest.cost_usd,
    tokens: tokensOf(rest.tokens.input, rest.tokens.output),
  };
}

function underWay(task: TaskDetails): WaterfallRow {
  return {
    key: `attempt ${task.attempt}`,
    name: say("Attempt {attempt}", { attempt: task.attempt }),
    kind: "attempt",
    attempt: task.attempt,
    status: task.status,
    from: Date.parse(task.started_at ?? task.claim?.claimed_at ?? task.created_at),
    to: null,
    model: null,
    costUsd: null,
    tokens: null,
  };
}

function rowOf(step: Step): WaterfallRow {
  const isCall = step.model !== null || step.tokens_input !== null || step.tokens_output !== null;
  return {
    key: `step ${step.name}`,
    name: step.name,
    kind: /(^|\/)tool:/.test(step.name) ? "tool" : isCall ? "call" : "step",
    attempt: step.attempt,
    status: "completed",
    from: step.began_at === null ? null : Date.parse(step.began_at),
    to: step.ended_at === null ? null : Date.parse(step.ended_at),
    model: step.model,
    costUsd: step.cost_usd,
    tokens: tokensOf(step.tokens_input, step.tokens_output),
  };
}

function tokensOf(input: number | null, output: number | null): [number, number] | null {
  return (input ?? 0) + (output ?? 0) === 0 ? null : [input ?? 0, output ?? 0];
}

/** A stretch of time in which some attempt was under way, and where on the line it stands. */
export interface Stage {
  from: number;
  until: number;
  left: number; // of the line, which is 1 long
  right: number;
}

const LONG_WAIT = 0.1; // of the time at work: a longer wait between attempts is drawn as a gap
const GAP = 0.05; // of the line

/** Work as long as it took, and long waits between attempts as short gaps: or a night's wait would hide all else. */
export function stagesOf(rows: readonly WaterfallRow[], now: number): Stage[] {
  const spans = rows
    .filter(({ kind }) => kind === "attempt")
    .map(({ from, to }) => ({ from: from ?? now, until: Math.max(to ?? now, (from ?? now) + 1) }))
    .sort((a, b) => a.from - b.from);
  const work = spans.reduce((sum, { from, until }) => sum + until - from, 0);
  const joined: { from: number; until: number }[] = [];
  for (const each of spans) {
    const last = joined.at(-1);
    if (last !== undefined && each.from - last.until <= work * LONG_WAIT) last.until = Math.max(last.until, each.until);
    else joined.push({ ...each });
  }
  const whole = joined.reduce((sum, { from, until }) => sum + until - from, 0);
  const room = 1 - GAP * (joined.length - 1);
  let left = 0;
  return joined.map(({ from, until }) => {
    const right = left + ((until - from) / whole) * Math.max(room, 0.2);
    const stage = { from, until, left, right };
    left = right + GAP;
    return stage;
  });
}

/** Where on the line a time is. */
export function placeIn(stages: readonly Stage[], time: number): number {
  let place = 0;
  for (const { from, until, left, right } of stages) {
    if (time < from) break;
    place = left + (Math.min(time - from, until - from) / (until - from)) * (right - left);
  }
  return Math.min(place, 1);
}

/** What of the attempts' cost no step has said: in dollars, to the millionth. */
export function costOutside(rows: readonly WaterfallRow[]): number {
  const micros = (usd: string | null) => Math.round(Number(usd ?? 0) * 1e6);
  const sum = (kinds: (kind: WaterfallRow["kind"]) => boolean) =>
    rows.filter(({ kind }) => kinds(kind)).reduce((whole, row) => whole + micros(row.costUsd), 0);
  return Math.max(sum((kind) => kind === "attempt") - sum((kind) => kind !== "attempt"), 0) / 1e6;
}
