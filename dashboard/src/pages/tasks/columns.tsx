/** What the list of tasks can show about each: in which column, in how much room, and sorted by what. */
import type { ReactNode } from "react";

import type { Sort } from "@/api/sorts";
import type { TaskRow } from "@/api/tasks";
import { say } from "@/language/say";
import { shortId, tierOf } from "@/parts/format";
import { Money } from "@/parts/money";
import { Ago, At, Lasted } from "@/parts/time";

export type Column =
  | "type"
  | "queue"
  | "agent"
  | "subject"
  | "tags"
  | "priority"
  | "failed"
  | "cost"
  | "took"
  | "updated"
  | "dag"
  | "id"
  | "date"
  | "created";

interface Look {
  name: Column;
  label: string;
  width: string;
  sort?: readonly Sort[]; // what a press on its head sorts by, one after the other
  isNumber?: boolean;
  show: (task: TaskRow) => ReactNode;
}

export const COLUMNS: readonly Look[] = [
  { name: "type", label: say("Type"), width: "6.5rem", show: (task) => task.type },
  { name: "queue", label: say("Queue"), width: "6rem", show: (task) => task.queue },
  { name: "agent", label: say("Agent"), width: "7rem", show: (task) => task.agent ?? "—" },
  { name: "subject", label: say("Subject"), width: "7rem", show: (task) => task.subject ?? "—" },
  { name: "tags", label: say("Tags"), width: "8rem", show: (task) => task.tags.join(", ") || "—" },
  {
    name: "priority",
    label: say("Priority"),
    width: "5.25rem",
    sort: ["priority"],
    show: (task) => (
      <span title={say("priority {priority}", { priority: task.priority })}>{tierOf(task.priority)}</span>
    ),
  },
  {
    name: "failed",
    label: say("Failed"),
    width: "3.5rem",
    sort: ["failures"],
    isNumber: true,
    show: (task) => (
      <span className={task.attempts > 0 ? "tasks-failed" : undefined}>
        {task.attempts}/{task.max_attempts}
      </span>
    ),
  },
  {
    name: "cost",
    label: say("Cost"),
    width: "4rem",
    sort: ["cost"],
    isNumber: true,
    show: (task) => (Number(task.cost_usd) === 0 ? "—" : <Money usd={task.cost_usd} />),
  },
  {
    name: "took",
    label: say("Took"),
    width: "4.5rem",
    sort: ["took"],
    isNumber: true,
    show: (task) => (task.started_at === null ? "—" : <Lasted from={task.started_at} to={task.ended_at} />),
  },
  {
    name: "updated",
    label: say("Changed"),
    width: "4.75rem",
    sort: ["updated"],
    isNumber: true,
    show: (task) => <Ago at={task.updated_at} />,
  },
  { name: "dag", label: "DAG", width: "7rem", show: (task) => shortId(task.dag_id) },
  { name: "id", label: say("Id"), width: "7rem", show: (task) => shortId(task.id) },
  { name: "date", label: say("Date"), width: "8rem", isNumber: true, show: (task) => <At at={task.created_at} /> },
  {
    name: "created",
    label: say("Created"),
    width: "4.75rem",
    sort: ["newest", "oldest"],
    isNumber: true,
    show: (task) => <Ago at={task.created_at} />,
  },
];

export const USUAL: readonly Column[] = ["type", "agent", "priority", "failed", "cost", "took", "created"];

export function looksOf(columns: readonly Column[]): Look[] {
  return COLUMNS.filter(({ name }) => columns.includes(name));
}

/** The widths of the row's cells: its mark, its status, its name, and these. */
export function gridOf(looks: readonly Look[]): string {
  return ["1rem", "6.75rem", "minmax(12rem, 1fr)", ...looks.map(({ width }) => width)].join(" ");
}

export type { Look };
