/** What came of a schedule or a trigger, latest first. */
import { Link } from "react-router";

import type { Fire } from "@/api/sources";
import { shortId } from "@/parts/format";
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
  if (fires.length === 0) return <p className="quiet">It has not fired yet.</p>;
  return (
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
  );
}
