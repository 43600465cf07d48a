import { Bot, CircleX, Coins, Hourglass, ShieldAlert, Stamp, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "react-router";

import { nameOf } from "@/actions/subject";
import type { Overview } from "@/api/overview";
import { say } from "@/language/say";
import { useNow } from "@/live/clock";
import { cents, count, span } from "@/parts/format";
import type { Tone } from "@/parts/status";

const LONG_WAIT = 600; // seconds in line after which somebody should look
const NEARLY_SPENT = 0.8; // of the day's money

/** What wants a person, first: each leads to where something can be done about it. */
export function Problems({ overview }: { overview: Overview }) {
  const { dead_unreviewed, approvals, open_breakers, silent_agents, paused_queues, throttles } = overview;
  return (
    <section className="overview-problems" aria-label={say("What wants attention")}>
      <Tile
        to="/dead-letters"
        icon={CircleX}
        tone={dead_unreviewed > 0 ? "bad" : null}
        figure={count(dead_unreviewed)}
        label={say("Dead letters")}
        more={dead_unreviewed > 0 ? say("wait for a decision") : say("nothing waits for a decision")}
      />
      <Tile
        to="/approvals"
        icon={Stamp}
        tone={approvals > 0 ? "warn" : null}
        figure={count(approvals)}
        label={say("Approvals")}
        more={approvals > 0 ? say("wait for somebody's word") : say("nobody is asked")}
      />
      <Tile
        to="/queues"
        icon={ShieldAlert}
        tone={open_breakers > 0 ? "bad" : null}
        figure={count(open_breakers)}
        label={say("Open breakers")}
        more={held(paused_queues, throttles)}
      />
      <OldestReady overview={overview} />
      <Tile
        to="/agents"
        icon={Bot}
        tone={silent_agents.length > 0 ? "warn" : null}
        figure={count(silent_agents.length)}
        label={say("Silent agents")}
        more={silent_agents.length > 0 ? silent_agents.map((agent) => agent.id).join(", ") : say("all are heard from")}
      />
      <Money day={overview.day} />
    </section>
  );
}

function held(paused: number, throttled: number): string {
  const words = [
    paused > 0 && say("{paused|# queue|# queues} paused", { paused }),
    throttled > 0 && say("{throttled} throttled", { throttled }),
  ];
  return words.filter(Boolean).join(", ") || say("nothing is held up");
}

function OldestReady({ overview: { oldest_ready: oldest } }: { overview: Overview }) {
  const now = useNow();
  const waited = oldest === null ? 0 : (now - Date.parse(oldest.ready_since)) / 1000;
  return (
    <Tile
      to={oldest === null ? "/tasks?status=ready" : `/tasks/${oldest.id}`}
      icon={Hourglass}
      tone={waited > LONG_WAIT ? "warn" : null}
      figure={oldest === null ? "—" : span(Math.max(waited, 0))}
      label={say("Oldest ready task")}
      more={oldest === null ? say("nothing is in line") : nameOf(oldest)}
    />
  );
}

function Money({ day }: { day: Overview["day"] }) {
  const used = Number(day.spent_usd) + Number(day.reserved_usd);
  const share = day.budget_usd === null ? 0 : used / Math.max(Number(day.budget_usd), 1e-9);
  const tone = share >= 1 ? "bad" : share >= NEARLY_SPENT ? "warn" : null;
  return (
    <Tile
      to="/spend"
      icon={Coins}
      tone={tone}
      figure={cents(day.spent_usd)}
      label={say("Spent today")}
      more={
        day.budget_usd === null ? (
          say("without a limit")
        ) : (
          <>
            <span className={`meter tone-${tone ?? "accent"}`} aria-hidden>
              <span style={{ width: `${Math.min(share, 1) * 100}%` }} />
            </span>
            {say("of {limit}", { limit: cents(day.budget_usd) })}
          </>
        )
      }
    />
  );
}

interface TileProps {
  to: string;
  icon: LucideIcon;
  tone: Tone | null; // none: all is well
  figure: string;
  label: string;
  more: ReactNode;
}

function Tile({ to, icon: Icon, tone, figure, label, more }: TileProps) {
  return (
    <Link to={to} className={`overview-tile${tone === null ? "" : ` wanting tone-${tone}`}`}>
      <span className="overview-tile-label">
        <Icon aria-hidden /> {label}
      </span>
      <strong>{figure}</strong>
      <span className="overview-tile-more">{more}</span>
    </Link>
  );
}
