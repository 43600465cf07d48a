/** Who can work: what they can do, what they are at, what they may still spend. */
import { useQuery } from "@tanstack/react-query";
import { Bot, VolumeX } from "lucide-react";
import { Link } from "react-router";

import { nameOf } from "@/actions/subject";
import { agents, heldTasks, type Agent, type HeldTask } from "@/api/crews";
import { overview } from "@/api/overview";
import { useEvery } from "@/live/live";
import { ViewerNote } from "@/parts/action";
import { CopyButton } from "@/parts/copy";
import { Broken, Empty, Loading } from "@/parts/empty";
import { plural } from "@/parts/format";
import { gathered } from "@/parts/gather";
import { LeftMeter, Meter } from "@/parts/meter";
import { Money } from "@/parts/money";
import { Card, Page } from "@/parts/page";
import { StatusBadge } from "@/parts/status";
import { Ago, Lasted } from "@/parts/time";

import { AgentActions } from "./agent-actions";
import "./agents.css";
import { Runtimes } from "./runtimes";

const HEARTBEATS = 5_000; // milliseconds: no event tells of one

export default function Agents() {
  const every = useEvery(HEARTBEATS);
  const { data, error, refetch } = useQuery({ ...agents, refetchInterval: every });
  const held = useQuery(heldTasks);
  const silent = new Set(useQuery(overview).data?.silent_agents.map(({ id }) => id));
  const gone = data?.agents.filter(isGone) ?? [];
  const work = gathered(held.data?.tasks ?? [], (task) => task.agent ?? "");
  return (
    <Page title="Agents" heading="Agents and runtimes" lead={summary(data?.agents ?? [])}>
      <ViewerNote />
      {data === undefined && (
        <Card>{error === null ? <Loading rows={6} /> : <Broken error={error} retry={() => void refetch()} />}</Card>
      )}
      {data?.agents.length === 0 && (
        <Card>
          <Empty icon={Bot} title="No agent is registered" command="taskyard work module:agents">
            Run your own functions as agents, or any program with <code>taskyard work --exec</code>:
          </Empty>
        </Card>
      )}
      {data !== undefined && data.agents.length > 0 && (
        <AgentList agents={data.agents.filter((agent) => !isGone(agent))} silent={silent} work={work} />
      )}
      {gone.length > 0 && (
        <details className="card agents-gone">
          <summary>{plural(gone.length, "agent")} offline</summary>
          <AgentList agents={gone} silent={silent} work={work} />
        </details>
      )}
      <Runtimes agents={data?.agents ?? []} />
    </Page>
  );
}

/** Signed off or lost, with nothing in hand: workers come and go under ids of their own, and leave many of these. */
function isGone({ status, current_tasks }: Agent): boolean {
  return status === "offline" && current_tasks === 0;
}

interface AgentListProps {
  agents: readonly Agent[];
  silent: ReadonlySet<string>;
  work: ReadonlyMap<string, readonly HeldTask[]>;
}

function AgentList({ agents: shown, silent, work }: AgentListProps) {
  return (
    <ul className="agents">
      {shown.map((agent) => (
        <li key={agent.id}>
          <AgentCard agent={agent} isSilent={silent.has(agent.id)} work={work.get(agent.id) ?? []} />
        </li>
      ))}
    </ul>
  );
}

function summary(known: readonly Agent[]): string {
  if (known.length === 0) return "Who can work, and where.";
  const slots = known.reduce((sum, agent) => sum + agent.max_concurrent_tasks, 0);
  const busy = known.reduce((sum, agent) => sum + agent.current_tasks, 0);
  return `${plural(known.length, "agent")}, ${busy} of ${plural(slots, "slot")} in use`;
}

function AgentCard({ agent, isSilent, work }: { agent: Agent; isSilent: boolean; work: readonly HeldTask[] }) {
  return (
    <article className="card agent" data-agent={agent.id}>
      <header>
        <div className="agent-name">
          <h2 className="clip" title={agent.id}>
            {agent.id}
          </h2>
          <CopyButton text={agent.id} label={`Copy ${agent.id}`} />
          {agent.type !== agent.id && <span className="quiet clip">{agent.type}</span>}
        </div>
        {isSilent && agent.status === "active" ? <Silent /> : <StatusBadge status={agent.status} />}
      </header>
      <div className="card-body">
        <dl className="facts">
          <dt>Slots</dt>
          <dd>
            <Slots agent={agent} />
          </dd>
          <dt>Last seen</dt>
          <dd>
            <Ago at={agent.last_heartbeat} />
          </dd>
          <dt>Budget left</dt>
          <dd>
            <BudgetLeft agent={agent} />
          </dd>
          <dt>Can</dt>
          <dd>
            <Chips words={agent.orchestrator ? ["orchestrate", ...agent.capabilities] : agent.capabilities} none="—" />
          </dd>
          <dt>Models</dt>
          <dd>
            <Chips words={agent.models_available} none="any" />
          </dd>
          <dt>Types</dt>
          <dd>
            <Chips words={agent.types ?? []} none="all" />
          </dd>
          {agent.runtime_id !== null && (
            <>
              <dt>On</dt>
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
    <span className="badge tone-bad" title="It has not been heard of for long, and did not sign off.">
      <VolumeX aria-hidden /> silent
    </span>
  );
}

function Slots({ agent: { current_tasks: busy, max_concurrent_tasks: most } }: { agent: Agent }) {
  if (most > 12) return <Meter label="Slots in use" spent={busy} of={most} unit={(amount) => String(amount)} />;
  return (
    <span className="agent-slots" role="img" aria-label={`${busy} of ${most} in use`}>
      {Array.from({ length: most }, (_, index) => (
        <span key={index} className={index < busy ? "busy" : ""} />
      ))}
      <span className="quiet">
        {busy} of {most}
      </span>
    </span>
  );
}

function BudgetLeft({ agent: { budget_usd: whole, budget_left_usd: left } }: { agent: Agent }) {
  if (whole === null || left === null) return <span className="quiet">no limit</span>;
  return (
    <span className="agent-money">
      <strong>
        <Money usd={left} />
      </strong>
      <LeftMeter label="Left of the budget" left={left} of={whole} />
    </span>
  );
}

function Chips({ words, none }: { words: readonly string[]; none: string }) {
  if (words.length === 0) return <span className="quiet">{none}</span>;
  return (
    <span className="chips">
      {words.map((word) => (
        <span key={word} className="chip">
          {word}
        </span>
      ))}
    </span>
  );
}

const SHOWN = 4;

function Work({ agent, work }: { agent: Agent; work: readonly HeldTask[] }) {
  if (agent.current_tasks === 0) return <p className="quiet">Idle.</p>;
  return (
    <ul className="agent-work" aria-label="Current work">
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
            all {agent.current_tasks}
          </Link>
        </li>
      )}
    </ul>
  );
}
