import { Link } from "react-router";

import { say } from "@/language/say";
import { cents, shortId } from "@/parts/format";
import { Card } from "@/parts/page";
import { Shares } from "@/parts/shares";
import type { TwinProps } from "@/parts/twin";

interface SplitProps {
  twin: TwinProps;
  title: string;
  shares: readonly { name: string; title?: string; spent_usd: string }[];
  to?: (name: string) => string;
}

const SHOWN = 8;

/** Money by one of the things it was spent on. */
export function Split({ title, shares, to, twin }: SplitProps) {
  const others = shares.slice(SHOWN);
  return (
    <Card title={title} twin={twin}>
      <div className="card-body">
        {shares.length === 0 && <p className="quiet">{say("Nothing.")}</p>}
        <Shares
          shares={shares.slice(0, SHOWN).map(({ name, title: words, spent_usd: usd }) => {
            const shown = words || (name === "" ? say("not said") : shortId(name));
            return {
              name,
              label: to === undefined || name === "" ? shown : <Link to={to(name)}>{shown}</Link>,
              amount: Number(usd),
              words: cents(usd),
            };
          })}
        />
        {others.length > 0 && (
          <p className="quiet spend-others">
            {say("{others|# other|# others}", { others: others.length })}:{" "}
            {cents(others.reduce((sum, { spent_usd: usd }) => sum + Number(usd), 0))}
          </p>
        )}
      </div>
    </Card>
  );
}
