import { useQuery } from "@tanstack/react-query";
import { CircleX, SearchX } from "lucide-react";
import { Link, useParams } from "react-router";

import { AgainLike } from "@/actions/again";
import { CancelTask } from "@/actions/cancel";
import { SetPriority } from "@/actions/priority";
import { RerunTask } from "@/actions/rerun";
import { ResolveLetter } from "@/actions/resolve";
import { isWaiting, nameOf } from "@/actions/subject";
import { isRefusal } from "@/api/problem";
import { inputs, task as taskQuery, taskEvents, type TaskDetails, type TaskEvent } from "@/api/tasks";
import { say } from "@/language/say";
import { Id } from "@/parts/copy";
import { Broken, Empty, Loading } from "@/parts/empty";
import { isBlank, Json, Verbatim } from "@/parts/json";
import { Money } from "@/parts/money";
import { Card, Page } from "@/parts/page";
import { StatusBadge } from "@/parts/status";
import { Lasted } from "@/parts/time";
import { showTwin } from "@/parts/twin";

import { Artifacts } from "./artifacts";
import { Attempts } from "./attempts";
import { Compare } from "./compare-view";
import { ExportTask } from "./export";
import { Facts } from "./facts";
import { Relations } from "./relations";
import { Timeline } from "./timeline";
import { Transcript } from "./transcript-view";
import { Waiting } from "./waiting";
import { Waterfall } from "./waterfall-view";

import "./task.css";

const NOTHING_YET: readonly TaskEvent[] = [];

export default function Task() {
  const { taskId = "" } = useParams();
  const { data, error, refetch } = useQuery(taskQuery(taskId));
  if (isRefusal(error, 404) || isRefusal(error, 422)) {
    return (
      <Empty icon={SearchX} title={say("There is no such task")} command="taskyard ls">
        {say("It may have been pruned, or be of another workspace.")}
      </Empty>
    );
  }
  if (data === undefined)
    return error === null ? <Loading rows={8} /> : <Broken error={error} retry={() => void refetch()} />;
  return <TaskPage key={taskId} task={data} />;
}

function TaskPage({ task }: { task: TaskDetails }) {
  const events = useQuery(taskEvents(task.id));
  return (
    <Page
      title={nameOf(task)}
      trail={
        <>
          <Link to="/tasks">{say("Tasks")}</Link> /{" "}
          <Link to={`/tasks?type=${encodeURIComponent(task.type)}`}>{task.type}</Link>
        </>
      }
      lead={<Lead task={task} />}
      actions={<Actions task={task} />}
    >
      <div className="task-columns">
        <div className="task-main">
          {isWaiting(task.status) && <Waiting task={task} />}
          {task.dead !== null && <DeadNote task={task} />}
          <Transcript task={task} events={events.data ?? NOTHING_YET} />
          <Output task={task} />
          <Waterfall task={task} />
          <Attempts task={task} />
          <Compare task={task} />
          <Spec task={task} />
          <Inputs taskId={task.id} count={task.depends_on.length + task.spec.context_refs.length} />
        </div>
        <div className="task-side">
          <Timeline taskId={task.id} events={events.data} />
          <Facts task={task} />
          <Relations task={task} />
        </div>
      </div>
    </Page>
  );
}

function Lead({ task }: { task: TaskDetails }) {
  return (
    <span className="task-lead">
      <StatusBadge status={task.status} />
      {task.claim?.agent_id != null && <span>{say("by {who}", { who: task.claim.agent_id })}</span>}
      {task.started_at !== null && (
        <span>
          <Lasted from={task.started_at} to={task.completed_at ?? task.cancelled?.at ?? task.dead?.at} />
        </span>
      )}
      {Number(task.cost_usd) > 0 && <Money usd={task.cost_usd} />}
      <Id id={task.id} />
    </span>
  );
}

/** What makes sense in its state, and what would make sense in another with the reason why not now. */
function Actions({ task }: { task: TaskDetails }) {
  if (task.status === "dead_lettered")
    return (
      <>
        <AgainLike id={task.id} />
        <ResolveLetter letter={task} />
        <ExportTask task={task} />
      </>
    );
  return (
    <>
      <AgainLike id={task.id} />
      <RerunTask task={task} />
      <SetPriority task={task} />
      <CancelTask task={task} />
      <ExportTask task={task} />
    </>
  );
}

function DeadNote({ task }: { task: TaskDetails }) {
  const dead = task.dead;
  if (dead === null || task.status !== "dead_lettered") return null;
  return (
    <p className="note tone-bad">
      <CircleX aria-hidden />
      <span className="prose">
        {say("Out of attempts: {reason}.", { reason: dead.reason })}{" "}
        {dead.poison_pill && `${say("A poison pill: it failed under several agents.")} `}
        {dead.reviewed
          ? say("{resolution} by {who}. {note}", {
              resolution: dead.resolution ?? say("Reviewed"),
              who: dead.reviewed_by ?? say("somebody"),
              note: dead.note ?? "",
            })
          : say("Nobody has decided about it yet.")}
      </span>
    </p>
  );
}

function Output({ task }: { task: TaskDetails }) {
  const { output } = task;
  if (output.attempt === null) return null;
  return (
    <>
      <Card
        title={say("Output")}
        twin={showTwin(task.id)}
        aside={<span className="quiet">{say("of attempt {attempt}", { attempt: output.attempt })}</span>}
      >
        <div className="card-body">
          <Json value={output.data} label={say("the output")} />
        </div>
      </Card>
      {!isBlank(output.decision_report) && (
        <Card title={say("Decision report")} twin={showTwin(task.id)}>
          <div className="card-body">
            <Json value={output.decision_report} label={say("the decision report")} />
          </div>
        </Card>
      )}
      <Artifacts taskId={task.id} refs={output.artifacts} />
    </>
  );
}

function Spec({ task }: { task: TaskDetails }) {
  const { prompt, payload, context_refs } = task.spec;
  return (
    <Card
      title={say("Spec")}
      twin={showTwin(task.id)}
      aside={<span className="quiet">{say("version {version}", { version: task.spec.version })}</span>}
    >
      <div className="card-body task-spec">
        {prompt !== "" && (
          <div>
            <h3>{say("Prompt")}</h3>
            <Verbatim text={prompt} label={say("the prompt")} />
          </div>
        )}
        {!isBlank(payload) && (
          <div>
            <h3>{say("Payload")}</h3>
            <Json value={payload} label={say("the payload")} />
          </div>
        )}
        {context_refs.length > 0 && (
          <div>
            <h3>{say("Context")}</h3>
            <ul className="chips">
              {context_refs.map((ref) => (
                <li key={ref} className="chip">
                  {ref}
                </li>
              ))}
            </ul>
          </div>
        )}
        {prompt === "" && isBlank(payload) && <p className="quiet">{say("It has neither a prompt nor a payload.")}</p>}
      </div>
    </Card>
  );
}

function Inputs({ taskId, count }: { taskId: string; count: number }) {
  const { data } = useQuery({ ...inputs(taskId), enabled: count > 0 });
  if (data === undefined || data.inputs.length === 0) return null;
  return (
    <Card
      title={say("Inputs")}
      aside={<span className="quiet">{data.inputs.length}</span>}
      twin={{ command: `taskyard show ${taskId} --json`, path: `/api/tasks/${taskId}/inputs` }}
    >
      <div className="card-body task-spec">
        {data.inputs.map((input) => (
          <details key={input.ref}>
            <summary>{input.ref}</summary>
            {input.inlined ? (
              <Json value={input.data} label={input.ref} />
            ) : (
              <p className="quiet">{say("Too big to be shown here; its agent fetches it by reference.")}</p>
            )}
          </details>
        ))}
      </div>
    </Card>
  );
}
