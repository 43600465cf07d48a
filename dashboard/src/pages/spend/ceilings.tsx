import { Link } from "react-router";

import type { Ceiling } from "@/api/spend";
import { say } from "@/language/say";
import { shortId } from "@/parts/format";
import { Meter } from "@/parts/meter";
import { Money } from "@/parts/money";
import { Card } from "@/parts/page";

/** Every limit on money but the day's, the tightest first. */
export function Ceilings({ ceilings }: { ceilings: readonly Ceiling[] }) {
  const limited = ceilings
    .filter((each) => each.ceiling_usd !== null && !each.name.startsWith("day:"))
    .sort((a, b) => used(b) - used(a));
  return (
    <Card title={say("Caps")} twin={{ command: "taskyard budget show", path: "/api/spend" }}>
      {limited.length === 0 ? (
        <p className="card-body quiet">{say("No agent and no DAG has a budget.")}</p>
      ) : (
        <div className="table-frame">
          <table className="table">
            <thead>
              <tr>
                <th>{say("Of")}</th>
                <th className="number">{say("Spent")}</th>
                <th className="number">{say("Reserved")}</th>
                <th>{say("Cap")}</th>
              </tr>
            </thead>
            <tbody>
              {limited.map((each) => (
                <tr key={each.name}>
                  <td>
                    <Whose name={each.name} />
                  </td>
                  <td className="number">
                    <Money usd={each.spent_usd} />
                  </td>
                  <td className="number">
                    <Money usd={each.reserved_usd} />
                  </td>
                  <td>
                    <Meter
                      label={say("Used of {name}", { name: each.name })}
                      spent={each.spent_usd}
                      held={each.reserved_usd}
                      of={each.ceiling_usd}
                    />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function used({ spent_usd: spent, reserved_usd: held, ceiling_usd: ceiling }: Ceiling): number {
  return (Number(spent) + Number(held)) / Math.max(Number(ceiling), Number.MIN_VALUE);
}

const KINDS: Record<string, string> = {
  dag: "DAG",
  agent: "agent",
  type: "agents",
  "type-day": say("agents, each day"),
  "type-month": say("agents, each month"),
};

function Whose({ name }: { name: string }) {
  const [kind = "", rest = ""] = name.split(/:(.*)/s);
  const id = kind === "type-day" || kind === "type-month" ? rest.replace(/^[^:]*:/, "") : rest;
  return (
    <>
      <span className="quiet">{KINDS[kind] ?? kind}</span>{" "}
      <Link className="row-name" to={kind === "dag" ? `/dags/${id}` : "/agents"}>
        {kind === "dag" ? shortId(id) : id}
      </Link>
    </>
  );
}
