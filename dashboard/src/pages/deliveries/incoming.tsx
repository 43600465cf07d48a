/** What came to webhooks, and what was made of it. */
import { useQuery } from "@tanstack/react-query";
import { Webhook } from "lucide-react";
import { Link } from "react-router";

import { incoming } from "@/api/deliveries";
import { say } from "@/language/say";
import { Broken, Empty, Loading } from "@/parts/empty";
import { shortId } from "@/parts/format";
import { Card } from "@/parts/page";
import { At } from "@/parts/time";

const TONES = { fired: "good", skipped: "calm", missed: "warn", failed: "bad", refused: "bad" } as const;

export function Incoming() {
  const { data, error, refetch } = useQuery(incoming);
  return (
    <Card
      title={say("Webhooks that came in")}
      twin={{ command: "taskyard hooks show NAME", path: "/api/triggers/NAME/fires" }}
    >
      {data === undefined && (error === null ? <Loading /> : <Broken error={error} retry={() => void refetch()} />)}
      {data?.length === 0 && (
        <Empty icon={Webhook} title={say("Nothing came in")} command="taskyard hooks add NAME …">
          {say(
            "Signed deliveries to a hook are listed here with what they made. One without a good signature leaves nothing but a line in the server’s log.",
          )}
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <ul className="deliveries">
          {data.map(({ trigger, fire }) => (
            <li key={`${trigger} ${fire.key}`} className="delivery">
              <div className="delivery-what">
                <Link className="row-name" to="/schedules">
                  {trigger}
                </Link>{" "}
                {fire.task_id !== null && <Link to={`/tasks/${fire.task_id}`}>{shortId(fire.task_id)}</Link>}
                {fire.dag_id !== null && <Link to={`/dags/${fire.dag_id}`}>{shortId(fire.dag_id)}</Link>}
                <div className="quiet">{fire.why}</div>
              </div>
              <div className="delivery-state">
                <span className={`badge tone-${TONES[fire.outcome]}`}>{fire.outcome}</span> <At at={fire.at} />
              </div>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
