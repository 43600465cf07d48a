/** What of a task can be compared: its attempts, and the tasks that it repeats or is repeated by. Nothing here draws. */
import type { TaskDetails } from "@/api/tasks";

/** What went in and what came out, as one side of a comparison. */
export interface Side {
  asked: unknown;
  inputs: unknown;
  came: unknown;
}

/** A whole task. */
export function sideOfTask(task: TaskDetails, inputs: unknown): Side {
  const { prompt, payload, context_refs, constraints } = task.spec;
  return { asked: { prompt, payload, context_refs, constraints }, inputs, came: cameOf(task, task.attempt) };
}

/** One attempt of it. Every attempt is asked the same, unless the spec was changed between them. */
export function sideOfAttempt(task: TaskDetails, attempt: number): Pick<Side, "came"> {
  return { came: cameOf(task, attempt) };
}

/** The output where the attempt has one; else how it ended. */
function cameOf(task: TaskDetails, number: number): unknown {
  if (task.output.attempt === number) return task.output.data;
  const attempt = task.history.find(({ attempt: each }) => each === number);
  if (attempt === undefined) return { outcome: task.status };
  const { outcome, reason, error, model } = attempt;
  return { outcome, reason, error: error?.split("\n") ?? null, model };
}
