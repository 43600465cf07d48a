import { useQuery } from "@tanstack/react-query";
import { Hourglass } from "lucide-react";
import { Link } from "react-router";

import { SignalTask } from "@/actions/signal";
import { nameOf } from "@/actions/subject";
import type { Shapes } from "@/api/client";
import { relations, why, type TaskDetails } from "@/api/tasks";
import { say } from "@/language/say";
import { Loading } from "@/parts/empty";
import { Card } from "@/parts/page";
import { Words } from "@/parts/words";

type Cause = Shapes["Why"]["causes"][number] & Record<string, unknown>;

/** Where to go about a cause. */
const PLACES: Record<string, { to: string; name: string }> = {
  paused: { to: "/queues", name: say("Queues") },
  breaker: { to: "/queues", name: say("Breakers") },
  throttle: { to: "/queues", name: say("Throttles") },
  no_agent: { to: "/agents", name: say("Agents") },
  agents_inactive: { to: "/agents", name: say("Agents") },
  agents_silent: { to: "/agents", name: say("Agents") },
  agent_busy: { to: "/agents", name: say("Agents") },
  agent_budget: { to: "/agents", name: say("Agents") },
  budget: { to: "/spend", name: say("Spend") },
};

/** Why it is not running, in words, and what can be done about it. */
export function Waiting({ task }: { task: TaskDetails }) {
  const { data } = useQuery(why(task.id));
  const { data: related } = useQuery(relations(task.id, task.dag_id));
  const names = new Map(
    [...(related?.dependencies ?? []), ...(related?.children ?? [])].map((each) => [each.id, `“${nameOf(each)}”`]),
  );
  return (
    <Card
      className="task-why"
      name={say("Why it waits")}
      twin={{ command: `taskyard why ${task.id}`, path: `/api/tasks/${task.id}/why` }}
      title={
        <>
          <Hourglass aria-hidden /> {say("Why it waits")}
        </>
      }
    >
      {data === undefined ? (
        <Loading rows={1} />
      ) : (
        <ul className="card-body">
          {data.causes.map((cause, index) => (
            <li key={index}>
              <p className="prose">
                It <Words text={startingSmall(cause.words)} names={names} />.
              </p>
              <Remedy task={task} cause={cause} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

/** Some causes go on from "it", others are sentences of their own. */
function startingSmall(words: string): string {
  return /^(waits|is) /.test(words) ? words : ["waits:", words].join(" ");
}

function Remedy({ task, cause }: { task: TaskDetails; cause: Cause }) {
  const place = PLACES[cause.kind];
  return (
    <div className="task-remedy">
      {cause.kind === "signal" && typeof cause["signal"] === "string" && (
        <SignalTask task={task} name={cause["signal"]} small />
      )}
      {place !== undefined && (
        <Link className="button small" to={place.to}>
          {place.name}
        </Link>
      )}
    </div>
  );
}
