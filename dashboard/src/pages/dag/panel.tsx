/** The task that is looked at: how it stands, why it waits, what is before and after it, and what can be done. */
import { useQuery } from "@tanstack/react-query";
import { ArrowUpRight, X } from "lucide-react";
import { useMemo } from "react";
import { Link } from "react-router";

import { CancelTask } from "@/actions/cancel";
import { RerunTask } from "@/actions/rerun";
import { ResolveLetter } from "@/actions/resolve";
import { isWaiting, nameOf } from "@/actions/subject";
import type { Dag, DagTask } from "@/api/dags";
import { task as taskOf, why } from "@/api/tasks";
import { neighboursOf } from "@/graph/shape";
import { toneOf } from "@/graph/words";
import { say } from "@/language/say";
import { TaskId } from "@/parts/copy";

import { Money } from "@/parts/money";
import { lookOf, StatusBadge } from "@/parts/status";
import { At, Lasted } from "@/parts/time";
import { Words } from "@/parts/words";

interface PanelProps {
  dag: Dag;
  task: DagTask;
  isCritical: boolean;
  onClose: () => void;
  onGo: (taskId: string) => void;
}

export function Panel({ dag, task, isCritical, onClose, onGo }: PanelProps) {
  const { parents, children } = useMemo(
    () =>
      neighboursOf(
        dag.tasks.map(({ id }) => id),
        dag.edges,
      ),
    [dag],
  );
  return (
    <aside className="card dag-panel" aria-label={say("Task")}>
      <header>
        <h2>{nameOf(task)}</h2>
        <button type="button" className="button plain square" aria-label={say("Close")} onClick={onClose}>
          <X aria-hidden />
        </button>
      </header>
      <div className="card-body">
        <div className="chips">
          <StatusBadge status={task.status} word={task.state} />
          {isCritical && <span className="chip">{say("critical path")}</span>}
        </div>
        <Actions task={task} />
        <Waiting dag={dag} task={task} />
        <Facts task={task} />
        <Near title={say("Needs")} ids={parents.get(task.id) ?? []} dag={dag} onGo={onGo} />
        <Near title={say("Needed by")} ids={children.get(task.id) ?? []} dag={dag} onGo={onGo} />
      </div>
    </aside>
  );
}

function Facts({ task }: { task: DagTask }) {
  return (
    <dl className="facts">
      <dt>{say("Id")}</dt>
      <dd>
        <TaskId id={task.id} />
      </dd>
      <dt>{say("Type")}</dt>
      <dd>{task.type}</dd>
      <dt>{say("Agent")}</dt>
      <dd>{task.agent ?? <span className="quiet">{say("anyone")}</span>}</dd>
      <dt>{say("Began")}</dt>
      <dd>
        <At at={task.started_at} />
      </dd>
      <dt>{say("Took")}</dt>
      <dd>
        <Lasted from={task.started_at} to={task.ended_at} />
      </dd>
      <dt>{say("Cost")}</dt>
      <dd>
        <Money usd={task.cost_usd} />
      </dd>
      <dt>{say("Attempts")}</dt>
      <dd>
        {task.attempt}
        {task.attempts > 0 && <span className="quiet"> {say("({attempts} failed)", { attempts: task.attempts })}</span>}
      </dd>
    </dl>
  );
}

function Waiting({ dag, task }: { dag: Dag; task: DagTask }) {
  const { data } = useQuery({ ...why(task.id), enabled: isWaiting(task.status) });
  if (!isWaiting(task.status) || data === undefined) return null;
  const names = new Map(dag.tasks.map((each) => [each.id, nameOf(each)]));
  return (
    <p className="note tone-info">
      <span>
        <Words text={data.words} names={names} />
      </span>
    </p>
  );
}

const SHOWN = 8;

function Near({ title, ids, dag, onGo }: { title: string; ids: string[]; dag: Dag; onGo: (taskId: string) => void }) {
  if (ids.length === 0) return null;
  const wanted = new Set(ids);
  const tasks = dag.tasks.filter(({ id }) => wanted.has(id));
  return (
    <section>
      <h3>
        {title} {say("{tasks|# task|# tasks}", { tasks: tasks.length })}
      </h3>
      <ul className="dag-near">
        {tasks.slice(0, SHOWN).map((task) => {
          const Icon = lookOf(task.status).icon;
          return (
            <li key={task.id} className={toneOf(task.status)}>
              <button type="button" onClick={() => onGo(task.id)}>
                <Icon aria-hidden />
                <span className="clip">{nameOf(task)}</span>
              </button>
            </li>
          );
        })}
      </ul>
      {tasks.length > SHOWN && <p className="quiet">{say("and {more} more", { more: tasks.length - SHOWN })}</p>}
    </section>
  );
}

function Actions({ task }: { task: DagTask }) {
  return (
    <div className="dag-panel-actions">
      <Link className="button" to={`/tasks/${task.id}`}>
        <ArrowUpRight aria-hidden /> {say("Open")}
      </Link>
      {task.status === "dead_lettered" && <Revive taskId={task.id} />}
      <RerunTask task={task} />
      <CancelTask task={task} />
    </div>
  );
}

/** A dead letter's branch goes on as soon as it is retried: what waits behind it was never cancelled. */
function Revive({ taskId }: { taskId: string }) {
  const { data } = useQuery(taskOf(taskId));
  return data === undefined ? null : <ResolveLetter letter={data} />;
}
