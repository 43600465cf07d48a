/** What a schedule or a trigger makes: a task by its fields, or a task or a DAG as JSON. */
import { useState } from "react";

import type { Draft } from "@/api/new-work";
import { JsonEditor, useRead } from "@/editor/json-editor";
import { say } from "@/language/say";
import { Tabs } from "@/parts/tabs";
import { TaskForm } from "@/pages/new/task-form";
import { textOf } from "@/pages/new/draft-text";

import "@/pages/new/new.css";

export type Work = { task: Draft } | { dag: Draft };

interface WorkFormProps {
  start: Work;
  onChange: (work: Work | null) => void; // null: it cannot be made as it stands
}

const A_DAG: Draft = { title: "", tasks: [{ name: "first", type: "", prompt: "" }] };

export function WorkForm({ start, onChange }: WorkFormProps) {
  const [view, setView] = useState<"form" | "json" | "dag">("dag" in start ? "dag" : "form");
  const [text, setText] = useState(() => textOf("dag" in start ? start.dag : start.task));
  const { value } = useRead(text, view === "dag" ? "DagDraft" : "TaskDraft");

  function change(after: string, kind = view) {
    setText(after);
    try {
      const draft = JSON.parse(after) as Draft;
      onChange(kind === "dag" ? { dag: draft } : { task: draft });
    } catch {
      onChange(null); // somebody is still typing
    }
  }

  return (
    <div className="new-work">
      <Tabs
        label={say("What it makes")}
        chosen={view}
        onChoose={(name) => {
          if ((name === "dag") !== (view === "dag")) change(textOf(name === "dag" ? A_DAG : { type: "" }), name);
          setView(name);
        }}
        tabs={[
          { name: "form", label: say("A task") },
          { name: "json", label: say("A task as JSON") },
          { name: "dag", label: say("A DAG") },
        ]}
      />
      {view === "form" && value !== null ? (
        <TaskForm draft={value} onChange={(draft) => change(textOf(draft))} isTemplate />
      ) : (
        <JsonEditor
          label={say("Template: {example} is filled in", { example: "{{ path.to.value }}" })}
          schema={view === "dag" ? "DagDraft" : "TaskDraft"}
          rows={10}
          text={text}
          onChange={change}
        />
      )}
    </div>
  );
}
