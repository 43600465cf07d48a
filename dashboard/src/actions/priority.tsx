import { ArrowUpDown } from "lucide-react";
import { useId, useState } from "react";

import { say } from "@/language/say";
import { Action } from "@/parts/action";
import { tierOf } from "@/parts/format";

import { isWaiting, nameOf, type Subject } from "./subject";

const TIERS = [5, 20, 50, 70, 90]; // one priority of each

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
      label={say("Priority")}
      icon={ArrowUpDown}
      needs="steer"
      small={small}
      disabled={isWaiting(task.status) ? undefined : say("It does not wait any more, so there is no line to move in.")}
      onOpen={() => setPriority(String(task.priority))}
      title={say("Priority of “{task}”", { task: nameOf(task) })}
      confirm={say("Move it")}
      command={`taskyard priority ${task.id} ${priority || "50"}`}
      ready={/^\d+$/.test(priority)}
      run={(via) =>
        via.POST("/api/tasks/{task_id}/priority", {
          params: { path: { task_id: task.id } },
          body: { priority: Number(priority) },
        })
      }
      done={() => say("Its priority is {priority} now", { priority })}
    >
      <div className="segments" role="group" aria-label={say("Tiers")}>
        {TIERS.map((tier) => (
          <button
            key={tier}
            type="button"
            aria-pressed={tierOf(Number(priority)) === tierOf(tier)}
            onClick={() => setPriority(String(tier))}
          >
            {tierOf(tier)}
          </button>
        ))}
      </div>
      <div className="field">
        <label htmlFor={field}>{say("Priority, lower goes first")}</label>
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
