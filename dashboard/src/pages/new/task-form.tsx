/** The fields of a task that most tasks have; the others are in the editor beside it. */
import { useId, type ReactNode } from "react";

import type { Draft } from "@/api/new-work";
import type { Suggested } from "@/api/tasks";
import { say } from "@/language/say";
import { SuggestingInput } from "@/parts/suggesting-input";

interface TaskFormProps {
  draft: Draft;
  onChange: (draft: Draft) => void;
  isTemplate?: boolean; // {{ … }} in its texts is filled in
}

export function TaskForm({ draft, onChange, isTemplate = false }: TaskFormProps) {
  function set(name: string, value: unknown) {
    const rest = Object.entries(draft).filter(([key]) => key !== name);
    onChange(Object.fromEntries(value === undefined || value === "" ? rest : [...rest, [name, value]]));
  }
  const text = (name: string) => (typeof draft[name] === "string" ? draft[name] : "");
  const hint = isTemplate ? say("{example} and the like are filled in", { example: "{{ fire.date }}" }) : undefined;
  return (
    <div className="task-form">
      <Suggesting
        label={say("Type")}
        name="type"
        hint={say("What kind of work: code, research, review")}
        value={text("type")}
        set={set}
      />
      <Labelled label={say("Title")} {...(hint !== undefined && { hint })}>
        {(id) => <input id={id} value={text("title")} onChange={(event) => set("title", event.target.value)} />}
      </Labelled>
      <Labelled label={say("Prompt")} isWide {...(hint !== undefined && { hint })}>
        {(id) => (
          <textarea id={id} rows={6} value={text("prompt")} onChange={(event) => set("prompt", event.target.value)} />
        )}
      </Labelled>
      <Suggesting label={say("Queue")} name="queue" hint={say("default")} value={text("queue")} set={set} />
      <Suggesting label={say("Agent")} name="agent" hint={say("any that qualifies")} value={text("agent")} set={set} />
      <Suggesting label={say("Subject")} name="subject" hint="issue:42" value={text("subject")} set={set} />
      <Labelled label={say("Tags, with blanks between")}>
        {(id) => (
          <SuggestingInput
            id={id}
            field="tag"
            several
            value={Array.isArray(draft["tags"]) ? draft["tags"].join(" ") : ""}
            onDone={(value) => set("tags", value === "" ? undefined : value.split(/\s+/))}
          />
        )}
      </Labelled>
      <Labelled label={say("Priority, lower goes first")}>
        {(id) => (
          <input
            id={id}
            type="number"
            min={0}
            max={100}
            placeholder="50"
            value={typeof draft["priority"] === "number" ? draft["priority"] : ""}
            onChange={(event) => set("priority", event.target.value === "" ? undefined : Number(event.target.value))}
          />
        )}
      </Labelled>
      <Labelled label={say("At most, in dollars")}>
        {(id) => (
          <input
            id={id}
            inputMode="decimal"
            placeholder={say("no limit")}
            value={amountIn(draft["max_cost_usd"])}
            onChange={(event) => set("max_cost_usd", event.target.value)}
          />
        )}
      </Labelled>
    </div>
  );
}

function amountIn(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

interface SuggestingProps {
  label: string;
  name: Suggested;
  hint: string;
  value: string;
  set: (name: string, value: unknown) => void;
}

function Suggesting({ label, name, hint, value, set }: SuggestingProps) {
  return (
    <Labelled label={label}>
      {(id) => (
        <SuggestingInput id={id} field={name} value={value} placeholder={hint} onChange={(text) => set(name, text)} />
      )}
    </Labelled>
  );
}

interface LabelledProps {
  label: string;
  hint?: string;
  isWide?: boolean;
  children: (id: string) => ReactNode;
}

export function Labelled({ label, hint, isWide = false, children }: LabelledProps) {
  const id = useId();
  return (
    <div className={`field${isWide ? " wide" : ""}`}>
      <label htmlFor={id}>{label}</label>
      {children(id)}
      {hint !== undefined && <span className="hint">{hint}</span>}
    </div>
  );
}
