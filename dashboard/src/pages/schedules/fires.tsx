/** What came of a schedule or a trigger, latest first. */
import { Link } from "react-router";

import type { Fire } from "@/api/sources";
import { say } from "@/language/say";
import { decimal, shortId } from "@/parts/format";
import type { Tone } from "@/parts/status";
import { At } from "@/parts/time";

const TONES: Record<Fire["outcome"], Tone> = {
  fired: "good",
  skipped: "calm",
  missed: "warn",
  failed: "bad",
  refused: "bad",
};

export function Fires({ fires }: { fires: readonly Fire[] }) {
  if (fires.length === 0) return <p className="quiet">{say("It has not fired yet.")}</p>;
  return (
    <>
      <History fires={fires} />
      <ul className="source-fires">
        {fires.map((fire) => (
          <li key={fire.key}>
            <span className={`badge tone-${TONES[fire.outcome]}`}>{fire.outcome}</span>
            <At at={fire.nominal ?? fire.at} />
            {fire.task_id !== null && <Link to={`/tasks/${fire.task_id}`}>{shortId(fire.task_id)}</Link>}
            {fire.dag_id !== null && <Link to={`/dags/${fire.dag_id}`}>{shortId(fire.dag_id)}</Link>}
            <span className="quiet">{fire.why}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** How the last ones went, oldest first, one mark each; and how often it fires. */
function History({ fires }: { fires: readonly Fire[] }) {
  const ordered = fires.toReversed();
  const [first, last] = [ordered[0], ordered.at(-1)];
  const fired = fires.filter(({ outcome }) => outcome === "fired").length;
  const hours = first && last ? (Date.parse(last.at) - Date.parse(first.at)) / 3_600_000 : 0;
  const rate = hours > 0 ? `, ${say("about {rate} a day", { rate: decimal(((fires.length - 1) / hours) * 24) })}` : "";
  return (
    <p className="source-history">
      <span aria-hidden>
        {ordered.map((fire) => (
          <i key={fire.key} className={`tone-${TONES[fire.outcome]}`} title={`${fire.outcome} ${fire.at}`} />
        ))}
      </span>
      <span className="quiet">
        {say("{fired} of the last {fires} fired", { fired, fires: fires.length })}
        {rate}
      </span>
    </p>
  );
}
