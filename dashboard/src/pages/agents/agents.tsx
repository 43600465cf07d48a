/** Who can work: what they can do, what they are at, what they may still spend. */
import { useQuery } from "@tanstack/react-query";
import { Bot, VolumeX } from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";

import { nameOf } from "@/actions/subject";
import { agents, heldTasks, type Agent, type HeldTask } from "@/api/crews";
import { shares } from "@/api/overview";
import { say } from "@/language/say";
import { useEvery } from "@/live/live";
import { ViewerNote } from "@/parts/action";
import { CopyButton } from "@/parts/copy";
import { Broken, Empty, Loading } from "@/parts/empty";
import { count } from "@/parts/format";
import { gathered } from "@/parts/gather";
import { LeftMeter } from "@/parts/meter";
import { Money } from "@/parts/money";
import { Card, Page } from "@/parts/page";
import { Sparkline, sum as total } from "@/parts/sparkline";
import { StatusBadge } from "@/parts/status";
import { Ago, Lasted } from "@/parts/time";

import { AgentActions } from "./agent-actions";
import "./agents.css";
import { BudgetActions } from "./budget";
import { crewsOf, type Budget, type Crew } from "./crews";
import { Runtimes } from "./runtimes";

const HEARTBEATS = 5_000; // milliseconds: no event tells of one

export default function Agents() {
  const every = useEvery(HEARTBEATS);
  const { data, error, refetch } = useQuery({ ...agents, refetchInterval: every });
  const held = useQuery(heldTasks);
  const series = useQuery(shares("agent"));
  const work = gathered(held.data?.tasks ?? [], (task) => task.agent ?? "");
  return (
    <Page
      title={say("Agents")}
      twin={{ command: "taskyard agents ls", path: "/api/agents" }}
      heading={say("Agents and runtimes")}
      lead={summary(data?.agents ?? [])}
    >
      <ViewerNote />
      {data === undefined && (
        <Card>{error === null ? <Loading rows={6} /> : <Broken error={error} retry={() => void refetch()} />}</Card>
      )}
      {data?.agents.length === 0 && (
        <Card>
          <Empty icon={Bot} title={say("No agent is registered")} command="taskyard work module:agents">
            {say("Run your own functions as agents, or any program with {command}:", {
              command: <code>taskyard work --exec</code>,
            })}
          </Empty>
        </Card>
      )}
      {crewsOf(data?.agents ?? []).map((crew) => (
        <CrewCard key={crew.type} crew={crew} work={work} share={series.data?.shares?.[crew.type]} />
      ))}
      <Runtimes agents={data?.agents ?? []} />
    </Page>
  );
}

interface WorkersProps {
  agents: readonly Agent[];
  work: ReadonlyMap<string, readonly HeldTask[]>;
}

interface CrewProps extends Omit<WorkersProps, "agents"> {
  crew: Crew;
  share: Share | undefined;
}

/** Money belongs to the type; slots, heartbeats and work to each worker. */
function CrewCard({ crew, share, ...rest }: CrewProps) {
  const { here, gone } = crew;
  return (
    <section className="card crew" data-type={crew.type} aria-label={crew.type}>
      <header>
        <h2 className="clip" title={crew.type}>
          {crew.type}
        </h2>
        <span className="quiet">{standing(here, gone)}</span>
      </header>
      <div className="card-body">
        <dl className="facts">
          <dt>{say("Slots")}</dt>
          <dd>
            <Slots busy={sum(here, "current_tasks")} most={sum(here, "max_concurrent_tasks")} />
          </dd>
          <dt>{say("Last hour")}</dt>
          <dd>
            <Rate of={share} />
          </dd>
          <dt>{say("Budget left")}</dt>
          <dd>
            <BudgetLeft budget={crew.budget} />
          </dd>
        </dl>
        <div className="crew-actions">
          <BudgetActions crew={crew} />
        </div>
      </div>
      <Workers
        name={say("{here|# worker|# workers}", { here: here.length })}
        isOpen={here.length <= FEW}
        agents={here}
        {...rest}
      />
      <Workers
        name={say("{gone|# worker|# workers} offline", { gone: gone.length })}
        isOpen={false}
        agents={gone}
        {...rest}
      />
    </section>
  );
}

interface Share {
  completed: readonly number[];
  failed: readonly number[];
}

/** What all workers of the type did together, from the stored figures. */
function Rate({ of }: { of: Share | undefined }) {
  if (of === undefined) return <span className="quiet">{say("nothing")}</span>;
  const failed = count(total(of.failed));
  return (
    <span className="agent-rate">
      <Sparkline {...of} over={say("the last hour")} />
      <span>
        {say("{total}/h", { total: total(of.completed) })}
        {failed !== "0" && <span className="quiet">{`, ${say("{failed} failed", { failed })}`}</span>}
      </span>
    </span>
  );
}

function standing(here: readonly Agent[], gone: readonly Agent[]): string {
  const busy = here.filter(({ current_tasks }) => current_tasks > 0).length;
  const lost = [...here, ...gone].filter(({ silent }) => silent).length;
  const words = [
    say("{here} here", { here: here.length }),
    busy > 0 && say("{busy} busy", { busy }),
    gone.length > 0 && say("{gone} offline", { gone: gone.length }),
  ];
  return [...words, lost > 0 && say("{lost} silent", { lost })].filter(Boolean).join(", ");
}

const FEW = 3; // workers that are shown without being asked for

/** Drawn only once they are looked at: a type may have hundreds. */
function Workers({ name, isOpen, agents: shown, work }: WorkersProps & { name: string; isOpen: boolean }) {
  const [isShown, setShown] = useState(isOpen);
  if (shown.length === 0) return null;
  return (
    <details className="crew-workers" open={isShown} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>{name}</summary>
      {isShown && (
        <ul className="agents">
          {shown.map((agent) => (
            <li key={agent.id}>
              <AgentCard agent={agent} work={work.get(agent.id) ?? []} />
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

function sum(agents: readonly Agent[], name: "current_tasks" | "max_concurrent_tasks"): number {
  return agents.reduce((whole, agent) => whole + agent[name], 0);
}

function summary(known: readonly Agent[]): string {
  if (known.length === 0) return say("Who can work, and where.");
  const there = crewsOf(known).flatMap(({ here }) => here);
  const slots = say("{slots|# slot|# slots}", { slots: sum(there, "max_concurrent_tasks") });
  return say("{there|# worker|# workers} here, {busy} of {slots} in use", {
    there: there.length,
    busy: sum(there, "current_tasks"),
    slots,
  });
}

function AgentCard({ agent, work }: { agent: Agent; work: readonly HeldTask[] }) {
  return (
    <article className="card agent" data-agent={agent.id} aria-label={agent.id}>
      <header>
        <div className="agent-name">
          <h3 className="clip" title={agent.id}>
            {agent.id}
          </h3>
          <CopyButton text={agent.id} label={say("Copy {id}", { id: agent.id })} />
        </div>
        {agent.silent ? <Silent /> : <StatusBadge status={agent.status} />}
      </header>
      <div className="card-body">
        <dl className="facts">
          <dt>{say("Slots")}</dt>
          <dd>
            <Slots busy={agent.current_tasks} most={agent.max_concurrent_tasks} />
          </dd>
          <dt>{say("Last seen")}</dt>
          <dd>
            <Ago at={agent.last_heartbeat} />
          </dd>
          {agent.own_budget_usd !== null && (
            <>
              <dt>{say("Own budget")}</dt>
              <dd>
                <Money usd={agent.own_budget_usd} />
              </dd>
            </>
          )}
          <dt>{say("Can")}</dt>
          <dd>
            <Chips words={agent.orchestrator ? ["orchestrate", ...agent.capabilities] : agent.capabilities} none="—" />
          </dd>
          <dt>{say("Models")}</dt>
          <dd>
            <Chips words={agent.models_available} none="any" />
          </dd>
          <dt>{say("Types")}</dt>
          <dd>
            <Chips words={agent.types ?? []} none="all" />
          </dd>
          {agent.runtime_id !== null && (
            <>
              <dt>{say("On")}</dt>
              <dd>{agent.runtime_id}</dd>
            </>
          )}
        </dl>
        <Work agent={agent} work={work} />
      </div>
      <footer>
        <AgentActions agent={agent} />
      </footer>
    </article>
  );
}

function Silent() {
  return (
    <span className="badge tone-bad" title={say("It has not been heard of for long, and did not sign off.")}>
      <VolumeX aria-hidden /> {say("silent")}
    </span>
  );
}

function Slots({ busy, most }: { busy: number; most: number }) {
  if (most > 12) return <span>{say("{busy} of {most}", { busy, most })}</span>;
  return (
    <span className="agent-slots" role="img" aria-label={say("{busy} of {most} in use", { busy, most })}>
      {Array.from({ length: most }, (_, index) => (
        <span key={index} className={index < busy ? "busy" : ""} />
      ))}
      <span className="quiet">{say("{busy} of {most}", { busy, most })}</span>
    </span>
  );
}

const PERIODS: Record<string, string> = {
  ever: say("in all"),
  day: say("each day (UTC)"),
  month: say("each month (UTC)"),
};
const SET_BY: Record<string, string> = { code: say("as its code says"), operator: say("set by an operator") };

function BudgetLeft({ budget }: { budget: Budget | null }) {
  if (budget === null) return <span className="quiet">{say("no limit")}</span>;
  return (
    <span className="agent-money">
      <strong>
        <Money usd={budget.leftUsd} />
      </strong>
      <LeftMeter label={say("Left of the budget")} left={budget.leftUsd} of={budget.usd} />
      <span className="quiet">
        {PERIODS[budget.per] ?? budget.per}
        {budget.setBy !== null && `, ${SET_BY[budget.setBy] ?? budget.setBy}`}
      </span>
    </span>
  );
}

function Chips({ words, none }: { words: readonly string[]; none: string }) {
  if (words.length === 0) return <span className="quiet">{none}</span>;
  return (
    <span className="chips">
      {words.map((word) => (
        <span key={word} className="chip" title={word}>
          {word}
        </span>
      ))}
    </span>
  );
}

const SHOWN = 4;

function Work({ agent, work }: { agent: Agent; work: readonly HeldTask[] }) {
  if (agent.current_tasks === 0) return <p className="quiet">{say("Idle.")}</p>;
  return (
    <ul className="agent-work" aria-label={say("Current work")}>
      {work.slice(0, SHOWN).map((task) => (
        <li key={task.id}>
          <Link className="clip" to={`/tasks/${task.id}`}>
            {nameOf(task)}
          </Link>
          <span className="quiet">
            <Lasted from={task.started_at} />
          </span>
        </li>
      ))}
      {agent.current_tasks > SHOWN && (
        <li>
          <Link to={`/tasks?agent=${encodeURIComponent(agent.id)}&status=running&status=claimed`}>
            {say("all {number}", { number: agent.current_tasks })}
          </Link>
        </li>
      )}
    </ul>
  );
}
