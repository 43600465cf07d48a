import type { ReactNode } from "react";

import type { Ceiling } from "@/api/spend";
import { say } from "@/language/say";
import { useNow } from "@/live/clock";
import { cents } from "@/parts/format";
import { Meter } from "@/parts/meter";
import { Money } from "@/parts/money";
import { At } from "@/parts/time";

import { burning } from "./burning";

/** Today's money: spent, reserved, and where it is going. */
export function Today({ ceilings, budget }: { ceilings: readonly Ceiling[]; budget: string | null }) {
  const now = useNow();
  const date = new Date(now).toISOString().slice(0, 10);
  const today = ceilings.find(({ name }) => name === `day:${date}`);
  const spent = Number(today?.spent_usd ?? 0);
  const { perHour, byMidnight, emptyAt } = burning(spent, budget === null ? null : Number(budget), now);
  return (
    <section className="card spend-today" aria-label={say("Today")}>
      <Figure name={say("Spent today")}>
        <Money usd={today?.spent_usd ?? "0"} />
      </Figure>
      <Figure name={say("Reserved by what runs")}>
        <Money usd={today?.reserved_usd ?? "0"} />
      </Figure>
      <Figure name={say("Burn rate")}>
        {cents(perHour)} <span className="quiet">{say("an hour")}</span>
      </Figure>
      <Figure name={say("By midnight UTC, at this pace")}>{cents(byMidnight)}</Figure>
      <Figure name={say("Daily budget")}>
        <Meter label={say("Used of today's budget")} spent={spent} held={today?.reserved_usd ?? 0} of={budget} />
      </Figure>
      {emptyAt !== null && (
        <p className="note tone-warn">
          {emptyAt <= now ? (
            say("Today's money is gone: what is not paid for waits until midnight UTC.")
          ) : (
            <span>
              {say("At this pace today's money is gone at {at}.", { at: <At at={new Date(emptyAt).toISOString()} /> })}
            </span>
          )}
        </p>
      )}
    </section>
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
