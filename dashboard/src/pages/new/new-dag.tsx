/** Put a DAG in: its tasks name each other, and all of them are put in or none. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { ListPlus, Plus } from "lucide-react";
import { useState } from "react";
import { useNavigate, useSearchParams } from "react-router";

import { dagDraft } from "@/api/dags";
import { submitDag, type Draft } from "@/api/new-work";
import { JsonEditor, useRead } from "@/editor/json-editor";
import { say } from "@/language/say";
import { Broken, Loading } from "@/parts/empty";
import { Card, Page } from "@/parts/page";
import { useMay } from "@/session/session";
import { useToast } from "@/shell/toasts";

import { textOf } from "./draft-text";
import { faultOf, RefusedNote, useDryRun } from "./dry-run";
import { GraphSketch } from "./graph-sketch";

import "./new.css";

const EXAMPLE: Draft = {
  title: say("A page and its review"),
  tasks: [
    { name: "write", type: "write", prompt: say("Write the page") },
    { name: "review", type: "review", prompt: say("Review the page"), depends_on: ["write"] },
  ],
};

export default function NewDag() {
  const [asked] = useSearchParams();
  const like = asked.get("like");
  const { data, error, refetch } = useQuery({ ...dagDraft(like ?? ""), enabled: like !== null });
  if (like === null) return <Editor start={EXAMPLE} isLike={false} />;
  if (data === undefined)
    return error === null ? <Loading rows={8} /> : <Broken error={error} retry={() => void refetch()} />;
  return <Editor key={like} start={data} isLike />;
}

function Editor({ start, isLike }: { start: Draft; isLike: boolean }) {
  const [text, setText] = useState(() => textOf(start));
  const { value, faults } = useRead(text, "DagDraft");
  const { may, why } = useMay("steer");
  const navigate = useNavigate();
  const tell = useToast();
  const trial = useDryRun(value);
  const putting = useMutation({
    mutationFn: submitDag,
    async onSuccess(id) {
      tell("good", say("The DAG is put in"));
      await navigate(`/dags/${id}`);
    },
  });

  function change(after: string) {
    setText(after);
    putting.reset();
    trial.forget();
  }

  const isReady = may && value !== null && faults.length === 0;
  return (
    <Page
      title={say("New DAG")}
      lead={
        isLike
          ? say("Like another one: change what is to be different.")
          : say("Tasks that depend on each other, put in together or not at all.")
      }
    >
      <Card
        title={say("DAG")}
        twin={{ command: "taskyard submit dag.json", path: "/api/dags", method: "POST", body: value ?? {} }}
        aside={
          <button
            type="button"
            className="button small"
            disabled={value === null}
            onClick={() => change(textOf(withAnother(value ?? {})))}
          >
            <ListPlus aria-hidden /> {say("Add a task")}
          </button>
        }
      >
        <form
          className="card-body new-work"
          onSubmit={(event) => {
            event.preventDefault();
            if (isReady) putting.mutate(value);
          }}
        >
          <div className="new-dag">
            <JsonEditor
              label={say("The DAG")}
              schema="DagDraft"
              rows={22}
              text={text}
              onChange={change}
              refused={faultOf(putting.error) ?? trial.refused}
            />
            <GraphSketch dag={value} />
          </div>
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

/** One more task, which comes after the last one. */
function withAnother(dag: Draft): Draft {
  const tasks = Array.isArray(dag["tasks"]) ? (dag["tasks"] as Draft[]) : [];
  const last = tasks.at(-1);
  const after = typeof last?.["name"] === "string" ? { depends_on: [last["name"]] } : {};
  return { ...dag, tasks: [...tasks, { name: `task-${tasks.length + 1}`, type: "", prompt: "", ...after }] };
}
