import { RefreshCw } from "lucide-react";
import { useNavigate } from "react-router";

import { answered } from "@/api/client";
import { say } from "@/language/say";
import { Action } from "@/parts/action";

import { isFinal, nameOf, type Subject } from "./subject";

/** Do a finished task again, as a new one. */
export function RerunTask({ task, small = false }: { task: Subject; small?: boolean }) {
  const navigate = useNavigate();
  return (
    <Action
      label={say("Rerun")}
      icon={RefreshCw}
      needs="steer"
      small={small}
      disabled={isFinal(task.status) ? undefined : say("It has not ended: only what has ended can be done again.")}
      title={say("Rerun “{task}”", { task: nameOf(task) })}
      command={`taskyard rerun ${task.id}`}
      run={async (via) => {
        const made = await answered(via.POST("/api/tasks/{task_id}/rerun", { params: { path: { task_id: task.id } } }));
        await navigate(`/tasks/${made.id}`);
      }}
      done={say("Put in again, as a new task")}
    >
      <p>{say("A new task with the same spec is put in, with a fresh session. This one stays as it is.")}</p>
    </Action>
  );
}
