/** How much each variant is above or below the first, and whether that may be chance. */
import type { VariantDifference } from "@/api/scores";
import { say } from "@/language/say";
import { Card } from "@/parts/page";
import type { TwinProps } from "@/parts/twin";

import { UNITS } from "./intervals";
import type { Measure } from "./scale";

const MEASURED: Record<string, Measure["unit"]> = { completed: "share", cost: "usd", seconds: "seconds" };

export function Differences({ differences, twin }: { differences: readonly VariantDifference[]; twin: TwinProps }) {
  return (
    <Card title={say("Against the first variant")} twin={twin}>
      <div className="table-frame">
        <table className="table scores-table">
          <thead>
            <tr>
              <th>{say("Measure")}</th>
              <th>{say("Variant")}</th>
              <th className="number">{say("Difference")}</th>
              <th>{say("Is it chance?")}</th>
            </tr>
          </thead>
          <tbody>
            {differences.map((each) => (
              <tr key={`${each.measure} ${each.variant}`}>
                <td>{each.measure}</td>
                <td>
                  {each.variant ?? say("no variant")}{" "}
                  <span className="quiet">{say("against {base}", { base: each.base ?? say("no variant") })}</span>
                </td>
                <td className="number">{inWords(each)}</td>
                <td>
                  <span className={`badge tone-${each.is_more_than_chance ? "info" : "calm"}`}>{each.words}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="card-body quiet">
        {say(
          "Of twenty comparisons of equal variants, one looks like more than chance: decide before you look which measure counts.",
        )}
      </p>
    </Card>
  );
}

function inWords({ measure, difference, low, high }: VariantDifference): string {
  if (difference === null || low === null || high === null) return "–";
  const words = UNITS[MEASURED[measure] ?? "score"];
  const signed = (value: number) => `${value < 0 ? "−" : "+"}${words(Math.abs(value))}`;
  return say("{value} ({low} to {high})", { value: signed(difference), low: signed(low), high: signed(high) });
}
