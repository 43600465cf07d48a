import { useQuery } from "@tanstack/react-query";
import { CircleCheck, ToggleLeft, ToggleRight } from "lucide-react";
import { useId, useState } from "react";
import { Link } from "react-router";

import { breakers, closeBreaker, openBreaker, type Breaker } from "@/api/gates";
import { say } from "@/language/say";
import { useEvery } from "@/live/live";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";
import { Broken, Empty, Loading } from "@/parts/empty";
import { Card } from "@/parts/page";
import { StatusBadge } from "@/parts/status";
import { Ago } from "@/parts/time";

const AGAIN = 5_000; // milliseconds: that a breaker is half open now is no event

export function Breakers() {
  const { data, error, refetch } = useQuery({ ...breakers, refetchInterval: useEvery(AGAIN) });
  return (
    <Card
      title={say("Breakers")}
      aside={<OpenBreaker />}
      twin={{ command: "taskyard breakers ls", path: "/api/breakers" }}
    >
      {data === undefined && (error === null ? <Loading /> : <Broken error={error} retry={() => void refetch()} />)}
      {data?.breakers.length === 0 && (
        <Empty
          icon={CircleCheck}
          title={say("No breaker has ever opened")}
          command="taskyard breakers open TYPE --why …"
        >
          {say(
            "When tasks of one type keep failing, its breaker opens and no more of them are handed out for a while. By hand:",
          )}
        </Empty>
      )}
      {data !== undefined && data.breakers.length > 0 && (
        <div className="table-frame">
          <table className="table stacked gate-table">
            <thead>
              <tr>
                <th>{say("Type")}</th>
                <th>{say("State")}</th>
                <th className="number">{say("Failures in a row")}</th>
                <th>
                  <span className="sr-only">{say("Actions")}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {data.breakers.map((breaker) => (
                <Row key={breaker.type} breaker={breaker} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function Row({ breaker }: { breaker: Breaker }) {
  return (
    <tr>
      <td>
        <Link className="row-name" to={`/tasks?type=${encodeURIComponent(breaker.type)}`}>
          {breaker.type}
        </Link>
        <div className="quiet gate-why">
          {breaker.why}
          {breaker.opened_at !== null && (
            <>
              , <Ago at={breaker.opened_at} />
            </>
          )}
        </div>
      </td>
      <td>
        <StatusBadge status={breaker.state} />{" "}
        {breaker.open_until !== null && (
          <span className="quiet">{say("probe {ago}", { ago: <Ago at={breaker.open_until} /> })}</span>
        )}
      </td>
      <td className="number">
        {breaker.failures} <span className="quiet">{say("of {limit}", { limit: breaker.failure_threshold })}</span>{" "}
        <span className="gate-unit">{say("failures in a row")}</span>
      </td>
      <td className="gate-actions">
        {breaker.state === "closed" ? <OpenBreaker type={breaker.type} /> : <CloseBreaker type={breaker.type} />}
      </td>
    </tr>
  );
}

/** Open a breaker: of this type, or of one that is asked for. */
export function OpenBreaker({ type }: { type?: string }) {
  const [asked, setAsked] = useState("");
  const [why, setWhy] = useState("");
  const which = type ?? asked;
  return (
    <Action
      label={type === undefined ? say("Open one") : say("Open")}
      icon={ToggleLeft}
      needs="operate"
      small
      danger
      title={type === undefined ? say("Open a breaker") : say("Open the breaker of {type}", { type })}
      confirm={say("Open it")}
      command={`taskyard breakers open ${quoted(which || "TYPE")}${why === "" ? "" : ` --why ${quoted(why)}`}`}
      ready={which !== ""}
      run={(via) => openBreaker(via, which, why || say("by hand"))}
      done={say("Nothing of type {type} is handed out", { type: which })}
    >
      <p>
        {say(
          "Nothing of this type is handed out for a while. Then one task is let through as a probe: if it completes, it closes.",
        )}
      </p>
      {type === undefined && <Field label={say("Type of task")} value={asked} onChange={setAsked} />}
      <Field label={say("Why")} value={why} onChange={setWhy} />
    </Action>
  );
}

export function CloseBreaker({ type }: { type: string }) {
  const [why, setWhy] = useState("");
  return (
    <Action
      label={say("Close")}
      icon={ToggleRight}
      needs="operate"
      small
      title={say("Close the breaker of {type}", { type })}
      confirm={say("Close it")}
      command={`taskyard breakers close ${quoted(type)}${why === "" ? "" : ` --why ${quoted(why)}`}`}
      run={(via) => closeBreaker(via, type, why || say("by hand"))}
      done={say("Tasks of type {type} are handed out again", { type })}
    >
      <p>{say("Tasks of this type are handed out again at once, and failures are counted from zero.")}</p>
      <Field label={say("Why")} value={why} onChange={setWhy} />
    </Action>
  );
}

function Field({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  const field = useId();
  return (
    <div className="field">
      <label htmlFor={field}>{label}</label>
      <input id={field} value={value} maxLength={255} onChange={(event) => onChange(event.target.value)} />
    </div>
  );
}
