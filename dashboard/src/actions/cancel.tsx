import { useQuery } from "@tanstack/react-query";
import { Ban } from "lucide-react";
import { useId, useState } from "react";

import { answered, api, type Api } from "@/api/client";
import { dag } from "@/api/dags";
import { wordsOf } from "@/api/problem";
import { say } from "@/language/say";
import { Action } from "@/parts/action";
import { quoted, TaskId } from "@/parts/copy";

import { isFinal, nameOf, type Subject } from "./subject";

const SHOWN = 8; // tasks of a cascade that are named

interface CancelTaskProps {
  task: Subject & { dag_id?: string }; // with it, what else is cancelled can be called by its name
  small?: boolean;
  label?: string;
}

/** Take a task out of the yard, after a look at everything that goes with it. */
export function CancelTask({ task, small = false, label = say("Cancel") }: CancelTaskProps) {
  const [open, setOpen] = useState(false);
  const [reason, setReason] = useState("");
  const [cascade, setCascade] = useState(true);
  const preview = useQuery({
    queryKey: ["cancel-preview", task.id, cascade],
    queryFn: () => cancelled(api, task.id, { dry_run: true, cascade, reason: "" }),
    enabled: open,
    staleTime: 0,
    gcTime: 0,
  });
  const graph = useQuery({ ...dag(task.dag_id ?? ""), enabled: open && cascade && task.dag_id !== undefined });
  const names = new Map(graph.data?.tasks.map((each) => [each.id, nameOf(each)]));
  const others = preview.data?.task_ids.filter((id) => id !== task.id) ?? [];
  const why = reason === "" ? "" : ` --reason ${quoted(reason)}`;
  return (
    <Action
      label={label}
      icon={Ban}
      needs="steer"
      danger
      small={small}
      disabled={isFinal(task.status) ? say("It has ended already.") : undefined}
      onOpen={() => setOpen(true)}
      title={say("Cancel “{task}”", { task: nameOf(task) })}
      confirm={
        others.length === 0
          ? say("Cancel the task")
          : say("Cancel {tasks|# task|# tasks}", { tasks: others.length + 1 })
      }
      command={`taskyard cancel ${task.id}${cascade ? " --cascade" : " --alone"}${why}`}
      run={(via) => cancelled(via, task.id, { dry_run: false, cascade, reason: reason || "cancelled" })}
      done={
        others.length === 0
          ? say("Cancelled")
          : say("Cancelled, with {others|# task|# tasks} below it", { others: others.length })
      }
    >
      <label className="check">
        <input type="checkbox" checked={cascade} onChange={(event) => setCascade(event.target.checked)} />
        {say("Also what depends on it, and what it spawned")}
      </label>
      <div aria-live="polite">
        {preview.error !== null && <p className="note tone-bad">{wordsOf(preview.error)}</p>}
        {preview.isPending && <p className="quiet">{say("Looking at what depends on it…")}</p>}
        {preview.isSuccess && <Cascade ids={others} names={names} running={task.status === "running"} />}
      </div>
      <Reason value={reason} onChange={setReason} />
    </Action>
  );
}

async function cancelled(via: Api, id: string, body: { dry_run: boolean; cascade: boolean; reason: string }) {
  return answered(via.POST("/api/tasks/{task_id}/cancel", { params: { path: { task_id: id } }, body }));
}

interface CascadeProps {
  ids: readonly string[];
  names: ReadonlyMap<string, string>;
  running: boolean;
}

function Cascade({ ids, names, running }: CascadeProps) {
  return (
    <>
      <p>
        {ids.length === 0
          ? say("Nothing else is cancelled with it.")
          : say("{tasks|# task|# tasks} below it will be cancelled too:", { tasks: ids.length })}
        {running && ` ${say("Its agent hears of it at once, and a late result is refused.")}`}
      </p>
      <ul className="cascade">
        {ids.slice(0, SHOWN).map((id) => (
          <li key={id}>
            <TaskId id={id} whole={!names.has(id)} /> <span className="clip">{names.get(id)}</span>
          </li>
        ))}
      </ul>
      {ids.length > SHOWN && <p className="quiet">{say("and {more} more", { more: ids.length - SHOWN })}</p>}
    </>
  );
}

/** Why somebody did it; kept with what was done. */
export function Reason({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const field = useId();
  return (
    <div className="field">
      <label htmlFor={field}>{say("Reason")}</label>
      <input
        id={field}
        value={value}
        maxLength={1000}
        placeholder={say("Kept with the task")}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}
