/** What became of notifications: those that arrived too. */
import { useQuery } from "@tanstack/react-query";

import { sent, type SentEvent } from "@/api/deliveries";
import { say } from "@/language/say";
import { Broken, Loading } from "@/parts/empty";
import { Card } from "@/parts/page";
import { At } from "@/parts/time";

const TONES: Record<string, string> = {
  "notification.delivered": "good",
  "notification.parked": "bad",
  "notification.resent": "info",
};

export function Sent() {
  const { data, error, refetch } = useQuery(sent);
  return (
    <Card
      title={say("What became of them")}
      twin={{
        command: "taskyard events --event 'notification.*'",
        path: "/api/events?event=notification.*&order=newest",
      }}
    >
      {data === undefined && (error === null ? <Loading /> : <Broken error={error} retry={() => void refetch()} />)}
      {data?.length === 0 && <p className="card-body quiet">{say("Nothing was sent lately.")}</p>}
      {data !== undefined && data.length > 0 && (
        <ul className="deliveries">
          {data.map((event) => (
            <Line key={event.seq} event={event} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function Line({ event }: { event: SentEvent }) {
  const { notice, notifier, by } = event.payload as Record<string, string | undefined>;
  const said = [
    notice,
    notifier === undefined ? "" : say("to {notifier}", { notifier }),
    by === undefined ? "" : say("by {who}", { who: by }),
  ];
  return (
    <li className="delivery">
      <div className="delivery-what">{said.filter(Boolean).join(", ")}</div>
      <div className="delivery-state">
        <span className={`badge tone-${TONES[event.event] ?? "calm"}`}>{event.event.replace("notification.", "")}</span>{" "}
        <At at={event.at} />
      </div>
    </li>
  );
}
