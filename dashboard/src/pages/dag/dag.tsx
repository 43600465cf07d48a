/** One DAG: its graph, its Gantt chart or its list, with the task that is looked at beside it. */
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Link, useParams, useSearchParams } from "react-router";

import { dag as dagOf, type Dag as DagShape } from "@/api/dags";
import { Gantt } from "@/graph/gantt";
import { say } from "@/language/say";
import { Id } from "@/parts/copy";
import { Broken, Loading } from "@/parts/empty";
import { Page } from "@/parts/page";
import { StatusBadge } from "@/parts/status";
import { Tabs } from "@/parts/tabs";

import { CancelDag, DagBudget } from "./dag-actions";
import "./dag.css";
import { List } from "./list";
import { Panel } from "./panel";
import { Summary } from "./summary";

const TaskGraph = lazy(() => import("@/graph/task-graph").then((module) => ({ default: module.TaskGraph })));

const VIEWS = [
  { name: "graph", label: say("Graph") },
  { name: "gantt", label: say("Gantt") },
  { name: "list", label: say("List") },
] as const;

type View = (typeof VIEWS)[number]["name"];

export default function Dag() {
  const { dagId = "" } = useParams();
  const { data, error, refetch } = useQuery(dagOf(dagId));
  if (data === undefined) {
    return (
      <Page title={say("DAG")} trail={<Trail />}>
        {error === null ? <Loading rows={8} /> : <Broken error={error} retry={() => void refetch()} />}
      </Page>
    );
  }
  return <Shown dag={data} />;
}

function Shown({ dag }: { dag: DagShape }) {
  const [asked, setAsked] = useSearchParams();
  const view = VIEWS.find(({ name }) => name === asked.get("view"))?.name ?? "graph";
  const current = asked.get("task");
  const status = asked.get("status");
  const path = dag.critical_path.task_ids;
  const listed = status === null ? dag.tasks : dag.tasks.filter((task) => task.status === status);

  function ask(changes: { view?: View; task?: string | null; status?: string | null }): void {
    const next = new URLSearchParams(asked);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) next.delete(name);
      else next.set(name, value);
    }
    setAsked(next, { replace: true });
  }

  const looked = dag.tasks.find((task) => task.id === current);
  const name = dag.title || dag.id;
  return (
    <Page
      title={name}
      filling
      twin={{ command: `taskyard tree ${dag.id}`, path: `/api/dags/${dag.id}` }}
      trail={<Trail />}
      heading={
        <span className="dag-heading">
          {name} <StatusBadge status={dag.status} />
        </span>
      }
      lead={
        <span className="dag-lead">
          {say("{id} by {who}", { id: <Id id={dag.id} whole />, who: dag.created_by })}
          {dag.tags.map((tag) => (
            <span key={tag} className="chip">
              {tag}
            </span>
          ))}
        </span>
      }
      actions={
        <>
          <Tabs label={say("View")} tabs={VIEWS} chosen={view} onChoose={(chosen) => ask({ view: chosen })} />
          <DagBudget dag={dag} />
          <CancelDag dag={dag} />
        </>
      }
    >
      <Summary
        dag={dag}
        status={status}
        onStatus={(each) => ask({ status: each, view: each === null ? view : "list" })}
      />
      <div className={looked ? "dag-stage with-panel" : "dag-stage"}>
        <div className="card dag-view">
          <Suspense fallback={<Loading />}>
            {view === "graph" && (
              <TaskGraph
                tasks={dag.tasks}
                edges={dag.edges}
                path={path}
                current={current}
                onCurrent={(task) => ask({ task })}
              />
            )}
            {view === "gantt" && (
              <Gantt tasks={dag.tasks} path={path} current={current} onCurrent={(task) => ask({ task })} />
            )}
            {view === "list" && <List tasks={listed} path={path} onCurrent={(task) => ask({ task })} />}
          </Suspense>
        </div>
        {looked && (
          <Panel
            dag={dag}
            task={looked}
            isCritical={path.includes(looked.id)}
            onClose={() => ask({ task: null })}
            onGo={(task) => ask({ task })}
          />
        )}
      </div>
    </Page>
  );
}

function Trail() {
  return <Link to="/dags">{say("DAGs")}</Link>;
}
