/** Put a task in: by its usual fields, or as JSON with every field there is. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { useNavigate, useSearchParams } from "react-router";

import { enqueue, likeTask, type Draft } from "@/api/new-work";
import { task as taskQuery } from "@/api/tasks";
import { JsonEditor, useRead } from "@/editor/json-editor";
import { say } from "@/language/say";
import { Broken, Loading } from "@/parts/empty";
import { Card, Page } from "@/parts/page";
import { Tabs } from "@/parts/tabs";
import { useMay } from "@/session/session";
import { useToast } from "@/shell/toasts";

import { enqueueCommand, textOf } from "./draft-text";
import { faultOf, RefusedNote, useDryRun } from "./dry-run";
import { TaskForm } from "./task-form";

import "./new.css";

const NOTHING: Draft = { type: "", prompt: "" };

export default function NewTask() {
  const [asked] = useSearchParams();
  const like = asked.get("like");
  const { data, error, refetch } = useQuery({ ...taskQuery(like ?? ""), enabled: like !== null });
  if (like === null) return <Editor start={NOTHING} from={null} />;
  if (data === undefined)
    return error === null ? <Loading rows={8} /> : <Broken error={error} retry={() => void refetch()} />;
  // The key keeps what was typed when the first task changes meanwhile.
  return <Editor key={like} start={likeTask(data)} from={data.title || like} />;
}

function Editor({ start, from }: { start: Draft; from: string | null }) {
  const [text, setText] = useState(() => textOf(start));
  const [view, setView] = useState<"form" | "json">("form");
  const { value, faults } = useRead(text, "TaskDraft");
  const { may, why } = useMay("steer");
  const navigate = useNavigate();
  const tell = useToast();
  const graph = value === null ? null : { tasks: [withoutGraph(value)] };
  const trial = useDryRun(graph);
  const putting = useMutation({
    mutationFn: enqueue,
    async onSuccess(made) {
      tell("good", made.created ? say("Put in") : say("A live task has its key: this is it"));
      await navigate(`/tasks/${made.id}`);
    },
  });

  function change(after: string) {
    setText(after);
    putting.reset();
    trial.forget();
  }

  const isReady = may && value !== null && typeof value["type"] === "string" && value["type"] !== "";
  const refused = faultOf(putting.error) ?? inTask(trial.refused);
  return (
    <Page
      title={say("New task")}
      lead={
        from === null
          ? say("One unit of work for an agent.")
          : say("Like “{title}”: change what is to be different.", { title: from })
      }
      actions={
        <Tabs
          label={say("How it is written")}
          chosen={view}
          onChoose={setView}
          tabs={[
            { name: "form", label: say("Form") },
            { name: "json", label: "JSON" },
          ]}
        />
      }
    >
      <Card
        title={say("Task")}
        twin={{ command: enqueueCommand(value ?? {}), path: "/api/tasks", method: "POST", body: value ?? {} }}
      >
        <form
          className="card-body new-work"
          onSubmit={(event) => {
            event.preventDefault();
            if (isReady) putting.mutate(value);
          }}
        >
          {view === "form" && value !== null ? (
            <>
              <TaskForm draft={value} onChange={(draft) => change(textOf(draft))} />
              <Faults faults={faults.filter(({ field }) => field !== "type")} />
            </>
          ) : (
            <JsonEditor label={say("The task")} schema="TaskDraft" text={text} onChange={change} refused={refused} />
          )}
          {trial.result}
          {putting.error !== null && <RefusedNote error={putting.error} />}
          <div className="new-work-actions">
            {trial.button}
            <button className="button primary" disabled={!isReady || putting.isPending} title={may ? undefined : why}>
              <Plus aria-hidden /> {say("Put it in")}
            </button>
            {!may && <span className="quiet">{why}</span>}
          </div>
        </form>
      </Card>
    </Page>
  );
}

function Faults({ faults }: { faults: readonly { field: string; rule: string }[] }) {
  if (faults.length === 0) return null;
  return (
    <ul className="note tone-warn">
      {faults.map(({ field, rule }) => (
        <li key={field + rule}>
          <code>{field}</code> {rule}
        </li>
      ))}
    </ul>
  );
}

/** A dry run is of a whole graph: what places a task in one that is there is left out of it. */
function withoutGraph(draft: Draft): Draft {
  return Object.fromEntries(Object.entries(draft).filter(([name]) => !["dag_id", "parent_id", "id"].includes(name)));
}

function inTask(fault: { field: string; rule: string } | null) {
  return fault && { ...fault, field: fault.field.replace(/^tasks\[0\]\.?/, "") };
}
