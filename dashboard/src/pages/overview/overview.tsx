import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Sprout } from "lucide-react";
import { Link } from "react-router";

import { nameOf } from "@/actions/subject";
import { dags } from "@/api/dags";
import { overview, type Overview as Figures } from "@/api/overview";
import { runningNow, type TaskRow } from "@/api/tasks";
import { say } from "@/language/say";
import { useEvery } from "@/live/live";
import { Broken, Empty, Loading } from "@/parts/empty";
import { count, inShort, shortId } from "@/parts/format";
import { Card, Page } from "@/parts/page";
import { ProgressBar, progressOf } from "@/parts/progress";
import { lookOf, StatusBadge, STATUSES } from "@/parts/status";
import { Lasted } from "@/parts/time";

import { Charts } from "./charts";
import { Problems } from "./problems";

import "./overview.css";

const MOST_DAGS = 3;
const TIERS: readonly [keyof Figures["ready_by_tier"], string][] = [
  ["critical", say("critical")],
  ["high", say("high")],
  ["normal", say("normal")],
  ["low", say("low")],
  ["background", say("background")],
];

export default function Overview() {
  const { data, error, refetch } = useQuery({ ...overview, refetchInterval: useEvery(10_000) });
  if (data === undefined) {
    return (
      <Page title={say("Overview")} twin={{ command: "taskyard stats", path: "/api/overview" }}>
        {error === null ? <Loading rows={10} /> : <Broken error={error} retry={() => void refetch()} />}
      </Page>
    );
  }
  const isEmpty = Object.keys(data.tasks).length === 0;
  return (
    <Page title={say("Overview")} twin={{ command: "taskyard stats", path: "/api/overview" }}>
      <Problems overview={data} />
      {isEmpty ? (
        <Card>
          <Empty
            icon={Sprout}
            title={say("The yard is empty")}
            command={`taskyard enqueue research --prompt "Compare three vendors"`}
          >
            {say("Put a task in and watch it here, or let {command} show everything in a minute.", {
              command: <code>taskyard demo</code>,
            })}
          </Empty>
        </Card>
      ) : (
        <>
          <Statuses tasks={data.tasks} />
          <div className="overview-now">
            <Running />
            <div className="overview-beside">
              <Tiers tiers={data.ready_by_tier} />
              <DagsAtWork />
            </div>
          </div>
          <Charts />
        </>
      )}
    </Page>
  );
}

function Statuses({ tasks }: { tasks: Figures["tasks"] }) {
  return (
    <nav className="overview-statuses card" aria-label={say("Tasks by status")}>
      {STATUSES.map((status) => {
        const number = Object.values(tasks[status] ?? {}).reduce((sum, each) => sum + each, 0);
        return (
          <Link key={status} to={`/tasks?status=${status}`} title={count(number)}>
            <span>
              <i className={`tone-${lookOf(status).tone}`} aria-hidden />
              {lookOf(status).word}
            </span>
            <b>{inShort(number)}</b>
          </Link>
        );
      })}
    </nav>
  );
}

function Running() {
  const { data } = useQuery(runningNow);
  return (
    <Card
      title={say("At work now")}
      twin={{ command: "taskyard ls --status running", path: "/api/tasks?status=running" }}
      aside={<Link to="/tasks?status=running">{say("All")}</Link>}
    >
      {data === undefined ? (
        <Loading rows={5} />
      ) : data.tasks.length === 0 ? (
        <Empty icon={Sprout} title={say("No agent is at work")} command="taskyard work my_agents:coder">
          {say("Ready tasks are taken as soon as an agent that can do them asks.")}
        </Empty>
      ) : (
        <ul className="overview-running">
          {data.tasks.map((task) => (
            <AtWork key={task.id} task={task} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function AtWork({ task }: { task: TaskRow }) {
  const progress = progressOf(task.progress);
  const name = nameOf(task);
  return (
    <li>
      <Link to={`/tasks/${task.id}`} className="clip">
        {name}
      </Link>
      <span className="quiet clip">{progress?.note}</span>
      {progress?.fraction == null ? (
        <span />
      ) : (
        <ProgressBar fraction={progress.fraction} label={say("Progress of {name}", { name })} />
      )}
      <span className="quiet clip">{task.agent}</span>
      <span className="number quiet">
        <Lasted from={task.started_at} />
      </span>
    </li>
  );
}

/** Each leads to its graph, where a branch is two clicks from being cancelled. */
function DagsAtWork() {
  const { data } = useInfiniteQuery(dags({ status: [] }));
  const live = data?.pages[0]?.dags.filter((each) => each.ended_at === null).slice(0, MOST_DAGS);
  return (
    <Card
      title={say("DAGs at work")}
      twin={{ command: "taskyard dags --status running", path: "/api/dags?status=running" }}
      aside={<Link to="/dags">{say("All")}</Link>}
    >
      {live === undefined ? (
        <Loading rows={2} />
      ) : live.length === 0 ? (
        <p className="card-body quiet">{say("None is under way.")}</p>
      ) : (
        <ul className="overview-dags">
          {live.map((each) => (
            <li key={each.id}>
              <Link to={`/dags/${each.id}`} className="clip">
                {each.title || shortId(each.id)}
              </Link>
              <StatusBadge status={each.status} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Tiers({ tiers }: { tiers: Figures["ready_by_tier"] }) {
  const most = Math.max(1, ...Object.values(tiers));
  return (
    <Card
      title={say("Ready, by tier")}
      twin={{ command: "taskyard ls --status ready --sort priority", path: "/api/overview" }}
    >
      <dl className="overview-tiers card-body">
        {TIERS.map(([tier, word]) => (
          <div key={tier}>
            <dt>{word}</dt>
            <dd>
              <span className="meter tone-info" aria-hidden>
                <span style={{ width: `${(100 * (tiers[tier] ?? 0)) / most}%` }} />
              </span>
              <b>{inShort(tiers[tier] ?? 0)}</b>
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}
