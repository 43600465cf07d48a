/** What work would cost and how long it would take, before it is put in. */
import { useMutation } from "@tanstack/react-query";
import { FlaskConical } from "lucide-react";

import { estimate, type Draft, type Estimate } from "@/api/new-work";
import { Refused } from "@/api/problem";
import type { Fault } from "@/editor/schema";
import { say } from "@/language/say";
import { cents, span } from "@/parts/format";

interface Trial {
  button: React.ReactNode;
  result: React.ReactNode;
  refused: Fault | null;
  forget: () => void;
}

/** A dry run of this graph: the button for it, and what came of it. */
export function useDryRun(graph: Draft | null): Trial {
  const trial = useMutation({ mutationFn: () => estimate(graph ?? {}) });
  return {
    refused: faultOf(trial.error),
    forget: () => trial.reset(),
    button: (
      <button
        type="button"
        className="button"
        disabled={graph === null || trial.isPending}
        onClick={() => trial.mutate()}
      >
        <FlaskConical aria-hidden /> {say("Dry run")}
      </button>
    ),
    result: (
      <div aria-live="polite">
        {trial.error !== null && <RefusedNote error={trial.error} />}
        {trial.data !== undefined && <Result found={trial.data} />}
      </div>
    ),
  };
}

/** The field and the rule that the server names; null where the error is another. */
export function faultOf(error: unknown): Fault | null {
  if (!(error instanceof Refused)) return null;
  const { field, rule } = error.facts;
  return typeof field === "string" && typeof rule === "string" ? { field, rule } : null;
}

export function RefusedNote({ error }: { error: Error }) {
  const fault = faultOf(error);
  return (
    <p className="note tone-bad" role="alert">
      {fault === null ? (
        error.message
      ) : (
        <span className="prose">
          <code>{fault.field}</code> {fault.rule}
        </span>
      )}
    </p>
  );
}

function Result({ found }: { found: Estimate }) {
  return (
    <section className="dry-run" aria-label={say("What it would come to")}>
      <p>
        {found.seconds > 0
          ? say("{tasks}, about {cost} and at least {time}. Nothing was stored.", {
              tasks: <b>{say("{tasks|# task|# tasks}", { tasks: found.tasks })}</b>,
              cost: <b>{cents(found.cost_usd)}</b>,
              time: <b>{span(found.seconds)}</b>,
            })
          : say("{tasks}, about {cost}. Nothing was stored.", {
              tasks: <b>{say("{tasks|# task|# tasks}", { tasks: found.tasks })}</b>,
              cost: <b>{cents(found.cost_usd)}</b>,
            })}
      </p>
      {found.is_over_ceiling && <p className="note tone-warn">{say("That is above the budget ceiling of the DAG.")}</p>}
      {found.unknown.length > 0 && (
        <p className="note tone-info">
          {say("No history yet of {types}: their cost is not in the sum.", { types: found.unknown.join(", ") })}
        </p>
      )}
      {found.chain.length > 1 && (
        <p>
          <span className="quiet">{say("Longest chain")}</span> {found.chain.join(" → ")}
        </p>
      )}
      <div className="table-frame">
        <table className="table">
          <thead>
            <tr>
              <th>{say("Type")}</th>
              <th className="number">{say("Tasks")}</th>
              <th className="number">{say("Ended before")}</th>
              <th className="number">{say("Each costs")}</th>
              <th className="number">{say("Each takes")}</th>
            </tr>
          </thead>
          <tbody>
            {found.types.map((each) => (
              <tr key={each.type}>
                <td>{each.type}</td>
                <td className="number">{each.tasks}</td>
                <td className="number">{each.seen}</td>
                <td className="number">{each.cost_usd === null ? "—" : cents(each.cost_usd)}</td>
                <td className="number">{each.seconds === null ? "—" : span(each.seconds)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
