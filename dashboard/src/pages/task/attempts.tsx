import { ChevronRight } from "lucide-react";
import { useState } from "react";

import type { Attempt, TaskDetails } from "@/api/tasks";
import { say } from "@/language/say";
import { Id } from "@/parts/copy";
import { count, tokens } from "@/parts/format";
import { Verbatim } from "@/parts/json";
import { Money } from "@/parts/money";
import { Card } from "@/parts/page";
import { StatusBadge } from "@/parts/status";
import { At, Lasted, Seconds } from "@/parts/time";
import { showTwin } from "@/parts/twin";

/** Every try at the task, the one that is under way first. */
export function Attempts({ task }: { task: TaskDetails }) {
  const ended = [...task.history].reverse();
  const claim = task.claim;
  if (ended.length === 0 && claim === null) return null;
  const hasSessions = task.session.session_id !== null || ended.some((attempt) => sessionOf(attempt) !== null);
  return (
    <Card
      title={say("Attempts")}
      twin={showTwin(task.id)}
      aside={
        <span className="quiet">
          {say("{attempts} of {most} failed", { attempts: task.attempts, most: task.max_attempts })}
        </span>
      }
    >
      <div className="table-frame">
        <table className="table stacked task-attempts">
          <thead>
            <tr>
              <th>#</th>
              <th>{say("Outcome")}</th>
              <th>{say("Agent")}</th>
              <th>{say("Model")}</th>
              <th>{say("Claimed")}</th>
              <th className="number">{say("Took")}</th>
              <th className="number">{say("Cost")}</th>
              <th className="number">{say("Tokens")}</th>
              {hasSessions && <th>{say("Session")}</th>}
            </tr>
          </thead>
          <tbody>
            {claim !== null && (
              <tr>
                <td>{task.attempt}</td>
                <td>
                  <StatusBadge status={task.status} />
                </td>
                <td>{claim.agent_id ?? "—"}</td>
                <td className="quiet">—</td>
                <td>
                  <At at={claim.claimed_at} />
                </td>
                <td className="number">
                  <Lasted from={claim.claimed_at} />
                </td>
                <td className="number quiet">—</td>
                <td className="number quiet">—</td>
                {hasSessions && <Session id={task.session.session_id} />}
              </tr>
            )}
            {ended.map((attempt) => (
              <Ended
                key={attempt.attempt}
                attempt={attempt}
                isLatest={attempt === ended[0]}
                hasSessions={hasSessions}
              />
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

interface EndedProps {
  attempt: Attempt;
  isLatest: boolean;
  hasSessions: boolean; // of any attempt
}

function Ended({ attempt, isLatest, hasSessions }: EndedProps) {
  const hasError = attempt.error !== null && attempt.error !== "";
  const [open, setOpen] = useState(isLatest && hasError);
  return (
    <>
      <tr>
        <td>
          {hasError ? (
            <button
              type="button"
              className="task-unfold"
              aria-expanded={open}
              aria-label={say("Error of attempt {attempt}", { attempt: attempt.attempt })}
              onClick={() => setOpen(!open)}
            >
              <ChevronRight aria-hidden /> {attempt.attempt}
            </button>
          ) : (
            attempt.attempt
          )}
        </td>
        <td>
          <span className="task-outcome">
            <StatusBadge status={attempt.outcome} />
            {attempt.reason !== null && <span className="quiet">{attempt.reason}</span>}
            {!attempt.counted && attempt.outcome === "failed" && <span className="quiet">{say("(not counted)")}</span>}
          </span>
        </td>
        <td>{attempt.agent}</td>
        <td className="quiet">{attempt.model ?? "—"}</td>
        <td>
          <At at={attempt.claimed_at} />
        </td>
        <td className="number">
          <Seconds value={attempt.duration_sec} />
        </td>
        <td className="number">
          <Money usd={attempt.cost_usd} />
        </td>
        <td className="number" title={tokens(attempt.tokens) ?? undefined}>
          {count(attempt.tokens.input + attempt.tokens.output)}
        </td>
        {hasSessions && <Session id={sessionOf(attempt)} />}
      </tr>
      {open && (
        <tr className="task-attempt-error">
          <td colSpan={hasSessions ? 9 : 8}>
            <Verbatim
              text={attempt.error ?? ""}
              label={say("error of attempt {attempt}", { attempt: attempt.attempt })}
            />
          </td>
        </tr>
      )}
    </>
  );
}

function sessionOf({ session }: Attempt): string | null {
  const id: unknown =
    typeof session === "object" && session !== null ? (session as Record<string, unknown>)["session_id"] : session;
  return typeof id === "string" ? id : null;
}

function Session({ id }: { id: string | null }) {
  return <td>{id === null ? <span className="quiet">—</span> : <Id id={id} />}</td>;
}
