/** How a DAG stands, in one line: how much is done, how long it takes, what it costs. */
import { useMemo, type ReactNode } from "react";

import type { Dag } from "@/api/dags";
import { extentOf, spanOf } from "@/graph/timescale";
import { countsOf, toneOf } from "@/graph/words";
import { say } from "@/language/say";
import { useNow } from "@/live/clock";
import { count, span } from "@/parts/format";
import { Money } from "@/parts/money";
import { lookOf } from "@/parts/status";

interface SummaryProps {
  dag: Dag;
  status: string | null; // the one that is filtered by
  onStatus: (status: string | null) => void;
}

export function Summary({ dag, status, onStatus }: SummaryProps) {
  const now = useNow();
  const path = dag.critical_path;
  const isOver = dag.status !== "running" && dag.status !== "pending";
  const done = dag.counts["completed"] ?? 0;
  const extent = useMemo(() => extentOf(dag.tasks), [dag.tasks]);
  const counts = useMemo(() => countsOf(dag.tasks), [dag.tasks]);
  const { from, until } = spanOf(extent, now);
  return (
    <div className="card dag-summary">
      <div className="dag-figures">
        <Figure name={say("Done")}>
          {count(done)} <span className="quiet">{say("of {limit}", { limit: dag.tasks.length })}</span>
        </Figure>
        <Figure name={dag.status === "running" ? say("Has taken") : say("Took")}>{span((until - from) / 1000)}</Figure>
        <Figure name={say("Critical path")}>
          {span(path.worked_sec)}{" "}
          <span className="quiet">
            {isOver || path.expected_sec <= path.worked_sec
              ? ""
              : `${say("of about {time}", { time: span(path.expected_sec) })}, `}
            {say("{tasks|# task|# tasks}", { tasks: path.task_ids.length })}, <Money usd={path.cost_usd} />
          </span>
        </Figure>
        <Figure name={say("Spent")}>
          <Money usd={dag.spent_usd} />{" "}
          {dag.budget_ceiling_usd !== null && (
            <span className="quiet">{say("of {limit}", { limit: <Money usd={dag.budget_ceiling_usd} /> })}</span>
          )}
        </Figure>
        <Figure name={say("Reserved")}>
          <Money usd={dag.reserved_usd} />
        </Figure>
      </div>
      <Progress counts={counts} />
      <ul className="chips dag-counts" aria-label={say("Tasks by status")}>
        {counts.map(([each, number]) => (
          <li key={each}>
            <button
              type="button"
              className={`badge ${toneOf(each)}`}
              aria-pressed={status === each}
              title={say("List these")}
              onClick={() => onStatus(status === each ? null : each)}
            >
              {number} {lookOf(each).word}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <span className="quiet">{name}</span>
      <strong>{children}</strong>
    </div>
  );
}

function Progress({ counts }: { counts: readonly [string, number][] }) {
  return (
    <div className="dag-progress" aria-hidden="true">
      {counts.toReversed().map(([status, number]) => (
        <span key={status} className={toneOf(status)} style={{ flexGrow: number }} />
      ))}
    </div>
  );
}
