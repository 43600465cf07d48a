import type { TaskEvent } from "@/api/tasks";
import { useNow } from "@/live/clock";
import { Empty, Loading } from "@/parts/empty";
import { exactly, span } from "@/parts/format";
import { Card } from "@/parts/page";
import { lookOf } from "@/parts/status";
import { At } from "@/parts/time";
import { isFinal } from "@/actions/subject";
import { say } from "@/language/say";
import { History } from "lucide-react";

import { isSaid, stretchesOf, tell, type Stretch } from "./story";

/** The states it went through, as a strip of time and as a list. */
export function Timeline({ taskId, events }: { taskId: string; events: readonly TaskEvent[] | undefined }) {
  const twin = { command: `taskyard events ${taskId}`, path: `/api/tasks/${taskId}/events` };
  if (events === undefined)
    return (
      <Card title={say("Timeline")} twin={twin}>
        <Loading />
      </Card>
    );
  const done = events.filter((event) => !isSaid(event));
  return (
    <Card title={say("Timeline")} twin={twin}>
      {done.length === 0 ? (
        <Empty icon={History} title={say("Its events are no longer kept")} />
      ) : (
        <div className="card-body task-timeline">
          <Strip stretches={stretchesOf(done)} />
          <ol>
            {done.map((event) => (
              <Moment key={event.seq} event={event} />
            ))}
          </ol>
        </div>
      )}
    </Card>
  );
}

function Strip({ stretches }: { stretches: readonly Stretch[] }) {
  const now = useNow();
  const timed = stretches
    .filter((each) => each.to !== null || !isFinal(each.status))
    .map((each) => ({
      ...each,
      lasted: Math.max((each.to === null ? now : Date.parse(each.to)) - Date.parse(each.from), 0),
    }));
  const sums = new Map<string, number>();
  for (const { status, lasted } of timed) sums.set(status, (sums.get(status) ?? 0) + lasted);
  return (
    <div className="task-strip">
      <div aria-hidden className="task-strip-bar">
        {timed.map((each) => (
          <span
            key={each.from + each.status}
            className={`tone-${lookOf(each.status).tone}`}
            style={{ flexGrow: Math.max(each.lasted, 1) }}
            title={`${lookOf(each.status).word}: ${span(each.lasted / 1000)}\n${say("from {time}", { time: exactly(each.from) })}`}
          />
        ))}
      </div>
      <dl>
        {[...sums].map(([status, lasted]) => (
          <div key={status}>
            <dt>
              <i className={`tone-${lookOf(status).tone}`} aria-hidden />
              {lookOf(status).word}
            </dt>
            <dd>{span(lasted / 1000)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function Moment({ event }: { event: TaskEvent }) {
  const { words, more } = tell(event);
  const status = event.payload["status"];
  const look = lookOf(typeof status === "string" ? status : "");
  const error = event.payload["error"];
  const Icon = look.icon;
  return (
    <li className={`tone-${look.tone}`}>
      <Icon aria-hidden />
      <div>
        <p>
          <b>{words}</b> <span className="quiet">{more}</span>
        </p>
        {typeof error === "string" && error !== "" && <p className="task-error clip">{error.split("\n").at(-1)}</p>}
      </div>
      <At at={event.at} />
    </li>
  );
}
