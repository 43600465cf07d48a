/** What can be done to a schedule. */
import { Play, Plus } from "lucide-react";
import { useId, useState } from "react";

import {
  addSchedule,
  pauseSchedule,
  removeSchedule,
  resumeSchedule,
  runSchedule,
  type NewSchedule,
  type Schedule,
} from "@/api/sources";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";

import { SourceActions, type Steering } from "./source-actions";

const STEERING: Steering = {
  group: "schedules",
  pause: pauseSchedule,
  resume: resumeSchedule,
  remove: removeSchedule,
  whilePaused: "No time of it fires until it is resumed. What it has made goes on.",
  onceResumed: "It goes on from now. The times that passed meanwhile are not made up for.",
  resumed: "goes on",
};

export function ScheduleActions({ schedule: { id, paused } }: { schedule: Schedule }) {
  return (
    <>
      <Action
        label="Run now"
        icon={Play}
        needs="steer"
        small
        title={`Run ${id} now`}
        command={`taskyard schedules run ${id}`}
        run={() => runSchedule(id)}
        done={`${id} was run`}
      >
        <p>It makes its work once, at once. Its own times stay as they are.</p>
      </Action>
      <SourceActions id={id} isPaused={paused} steering={STEERING} />
    </>
  );
}

const NOTHING: NewSchedule = { id: "", when: "", type: "", prompt: "" };

export function AddSchedule() {
  const [asked, setAsked] = useState(NOTHING);
  const { id, when, type, prompt } = asked;
  const command = `taskyard schedules add ${quoted(id || "ID")} ${quoted(when || "WHEN")} --type ${quoted(type || "TYPE")} --prompt ${quoted(prompt)}`;

  function change(name: keyof NewSchedule) {
    return (value: string) => setAsked({ ...asked, [name]: value });
  }

  return (
    <Action
      label="Add"
      icon={Plus}
      needs="operate"
      small
      title="Add a schedule"
      confirm="Add it"
      command={command}
      ready={id !== "" && when !== "" && type !== ""}
      onOpen={() => setAsked(NOTHING)}
      run={() => addSchedule(asked)}
      done={() => `${id} is added`}
    >
      <Field label="Name" hint="Letters, digits, dots and dashes" value={id} onChange={change("id")} />
      <Field
        label="When"
        hint="every weekday at 9am Europe/Berlin · every 15 minutes · 30 2 * * *"
        value={when}
        onChange={change("when")}
      />
      <Field label="Type of the task to make" value={type} onChange={change("type")} />
      <Field
        label="Its prompt"
        hint="{{ fire.date }} and the like are filled in"
        value={prompt}
        onChange={change("prompt")}
      />
    </Action>
  );
}

interface FieldProps {
  label: string;
  hint?: string;
  value: string;
  onChange: (value: string) => void;
}

function Field({ label, hint, value, onChange }: FieldProps) {
  const field = useId();
  return (
    <div className="field">
      <label htmlFor={field}>{label}</label>
      <input id={field} value={value} onChange={(event) => onChange(event.target.value)} />
      {hint !== undefined && <span className="hint">{hint}</span>}
    </div>
  );
}
