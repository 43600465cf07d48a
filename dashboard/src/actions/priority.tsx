import { ArrowUpDown } from "lucide-react";
import { useId, useState } from "react";

import { api } from "@/api/client";
import { Action } from "@/parts/action";
import { tierOf } from "@/parts/format";

import { isWaiting, nameOf, type Subject } from "./subject";

const TIERS = [
  { name: "critical", priority: 5 },
  { name: "high", priority: 20 },
  { name: "normal", priority: 50 },
  { name: "low", priority: 70 },
  { name: "background", priority: 90 },
];

interface SetPriorityProps {
  task: Subject & { priority: number };
  small?: boolean;
}

/** Move a waiting task forward or back. */
export function SetPriority({ task, small = false }: SetPriorityProps) {
  const [priority, setPriority] = useState(String(task.priority));
  const field = useId();
  return (
    <Action
      label="Priority"
      icon={ArrowUpDown}
      needs="steer"
      small={small}
      disabled={isWaiting(task.status) ? undefined : "It does not wait any more, so there is no line to move in."}
      onOpen={() => setPriority(String(task.priority))}
      title={`Priority of “${nameOf(task)}”`}
      confirm="Move it"
      command={`taskyard priority ${task.id} ${priority || "50"}`}
      ready={/^\d+$/.test(priority)}
      run={() =>
        api.POST("/api/tasks/{task_id}/priority", {
          params: { path: { task_id: task.id } },
          body: { priority: Number(priority) },
        })
      }
      done={() => `Its priority is ${priority} now`}
    >
      <div className="segments" role="group" aria-label="Tiers">
        {TIERS.map((tier) => (
          <button
            key={tier.name}
            type="button"
            aria-pressed={tierOf(Number(priority)) === tier.name}
            onClick={() => setPriority(String(tier.priority))}
          >
            {tier.name}
          </button>
        ))}
      </div>
      <div className="field">
        <label htmlFor={field}>Priority, lower goes first</label>
        <input
          id={field}
          type="number"
          min={0}
          max={100}
          required
          value={priority}
          onChange={(event) => setPriority(event.target.value)}
        />
      </div>
    </Action>
  );
}
