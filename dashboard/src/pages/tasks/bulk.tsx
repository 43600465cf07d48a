/** One action on many tasks: on those that were selected, or on everything that matches the filter. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { ArrowUpDown, Ban, RefreshCw, RotateCcw, type LucideIcon } from "lucide-react";
import { useId, useState } from "react";

import { Reason } from "@/actions/cancel";
import { nameOf } from "@/actions/subject";
import { answered, api, type Api, type Shapes } from "@/api/client";
import { wordsOf } from "@/api/problem";
import { task, type TaskFilter, type TaskRow } from "@/api/tasks";
import { say } from "@/language/say";
import { Action } from "@/parts/action";
import { quoted, TaskId } from "@/parts/copy";

import { asOptions } from "./filter";

type Kind = Shapes["BulkAction"]["action"];

interface Deed {
  kind: Kind;
  label: string;
  icon: LucideIcon;
  would: (tasks: number) => string; // be done
  done: (tasks: number) => string;
  words: string;
  command: string;
}

const DEEDS: readonly Deed[] = [
  {
    kind: "cancel",
    label: say("Cancel"),
    icon: Ban,
    would: (tasks) => say("{tasks|# task|# tasks} would be cancelled", { tasks }),
    done: (tasks) => say("{tasks|# task|# tasks} cancelled", { tasks }),
    words: say("They are taken out of the yard, with what depends on them. What has ended is left alone."),
    command: "cancel {}",
  },
  {
    kind: "retry",
    label: say("Retry"),
    icon: RotateCcw,
    would: (tasks) => say("{tasks|# task|# tasks} would be retried", { tasks }),
    done: (tasks) => say("{tasks|# task|# tasks} retried", { tasks }),
    words: say("Dead letters get all their attempts again. Other tasks are left alone."),
    command: "dead resolve {} retry",
  },
  {
    kind: "rerun",
    label: say("Rerun"),
    icon: RefreshCw,
    would: (tasks) => say("{tasks|# task|# tasks} would be put in again", { tasks }),
    done: (tasks) => say("{tasks|# task|# tasks} put in again", { tasks }),
    words: say("What has ended is done again, as new tasks with fresh sessions."),
    command: "rerun {}",
  },
  {
    kind: "priority",
    label: say("Priority"),
    icon: ArrowUpDown,
    would: (tasks) => say("{tasks|# task|# tasks} would be moved", { tasks }),
    done: (tasks) => say("{tasks|# task|# tasks} moved", { tasks }),
    words: say("Waiting tasks move within their lanes."),
    command: "priority {}",
  },
];

const SHOWN = 6; // tasks that are named

interface BulkProps {
  filter: TaskFilter;
  selected: readonly TaskRow[]; // none: everything that matches
  onDone: () => void;
}

export function BulkActions(props: BulkProps) {
  return DEEDS.map((deed) => <BulkAction key={deed.kind} deed={deed} {...props} />);
}

function BulkAction({ deed, filter, selected, onDone }: BulkProps & { deed: Deed }) {
  const [open, setOpen] = useState(false);
  const [note, setNote] = useState("");
  const [priority, setPriority] = useState("20");
  const [outcome, setOutcome] = useState("");
  const which = whichOf(filter, selected);
  const field = useId();
  const asked = { action: deed.kind, note, ...(deed.kind === "priority" && { priority: Number(priority) }) };
  const preview = useQuery({
    queryKey: ["bulk-preview", asked.action, which],
    queryFn: () => acted(api, { ...asked, dry_run: true, filter: which }),
    enabled: open,
    staleTime: 0,
    gcTime: 0,
  });
  const number = preview.data?.task_ids.length ?? 0;
  return (
    <Action
      label={deed.label}
      icon={deed.icon}
      needs="steer"
      small
      danger={deed.kind === "cancel"}
      onOpen={() => setOpen(true)}
      title={
        selected.length > 0
          ? say("{label} what is selected", { label: deed.label })
          : say("{label} everything that matches", { label: deed.label })
      }
      confirm={number === 0 ? deed.label : say("{label} {tasks|# task|# tasks}", { label: deed.label, tasks: number })}
      command={commandOf(deed, filter, selected, priority)}
      ready={number > 0 && (deed.kind !== "priority" || /^\d+$/.test(priority))}
      run={async (via) => {
        setOutcome(inWords(await acted(via, { ...asked, dry_run: false, filter: which }), deed));
        onDone();
      }}
      done={() => outcome}
    >
      <p>{deed.words}</p>
      {deed.kind === "priority" && (
        <div className="field">
          <label htmlFor={field}>{say("Priority, lower goes first")}</label>
          <input
            id={field}
            type="number"
            min={0}
            max={100}
            value={priority}
            onChange={(event) => setPriority(event.target.value)}
          />
        </div>
      )}
      <div aria-live="polite">
        {preview.isPending && <p className="quiet">{say("Looking at what that would be…")}</p>}
        {preview.error !== null && <p className="note tone-bad">{wordsOf(preview.error)}</p>}
        {preview.data !== undefined && <Preview would={preview.data} deed={deed} known={selected} />}
      </div>
      {deed.kind !== "priority" && <Reason value={note} onChange={setNote} />}
    </Action>
  );
}

type Acted = Shapes["Acted"];

async function acted(via: Api, body: Shapes["BulkAction"]): Promise<Acted> {
  return answered(via.POST("/api/tasks/bulk", { body }));
}

/** The same tasks that the list shows: an action must reach no other. */
function whichOf({ q, dag, parent, ...rest }: TaskFilter, selected: readonly TaskRow[]): Shapes["BulkFilter"] {
  if (selected.length > 0) return { ids: selected.map((task) => task.id) };
  return {
    ...rest,
    ...(dag !== undefined && { dag_id: dag }),
    ...(parent !== undefined && { parent_id: parent }),
    ...(q !== undefined && { text: q }),
  };
}

/** What would happen: how many, which of them first, and what would be left alone and why. */
function Preview({ would, deed, known }: { would: Acted; deed: Deed; known: readonly TaskRow[] }) {
  const names = new Map(known.map((each) => [each.id, nameOf(each)]));
  const unknown = would.task_ids.slice(0, SHOWN).filter((id) => !names.has(id));
  for (const { data } of useQueries({ queries: unknown.map((id) => task(id)) }))
    if (data !== undefined) names.set(data.id, nameOf(data));
  const refused = Object.entries(would.refused);
  return (
    <>
      <p>
        <b>{deed.would(would.task_ids.length)}</b>
        {would.more ? `. ${say("There are more that match: do it again for those.")}` : "."}
      </p>
      <ul className="cascade">
        {would.task_ids.slice(0, SHOWN).map((id) => (
          <li key={id}>
            <TaskId id={id} whole={!names.has(id)} /> <span className="clip">{names.get(id)}</span>
          </li>
        ))}
      </ul>
      {would.task_ids.length > SHOWN && (
        <p className="quiet">{say("and {more} more", { more: would.task_ids.length - SHOWN })}</p>
      )}
      {refused.length > 0 && (
        <p className="note tone-warn">
          {say("{refused|# task|# tasks} would be left alone: {detail}", {
            refused: refused.length,
            detail: refused[0]?.[1].detail ?? "",
          })}
        </p>
      )}
    </>
  );
}

function inWords(done: Acted, deed: Deed): string {
  const refused = Object.keys(done.refused).length;
  const rest = refused === 0 ? "" : `; ${say("{tasks|# task|# tasks} left alone", { tasks: refused })}`;
  return deed.done(done.task_ids.length) + rest;
}

/** The same from a shell: `ls` finds them, and the command is run for each. */
function commandOf(deed: Deed, filter: TaskFilter, selected: readonly TaskRow[], priority: string): string {
  const each = `taskyard ${deed.command}${deed.kind === "priority" ? ` ${priority}` : ""}`;
  if (selected.length > 0) return selected.map((task) => each.replace("{}", task.id)).join("\n");
  const found = ["taskyard", "ls", ...asOptions(filter).map(quoted), "-n", "200", "--json"].join(" ");
  return `${found} | jq -r '.[].id' | xargs -I{} ${each}`;
}
