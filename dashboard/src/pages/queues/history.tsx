/** What was done to queues and breakers, newest first. */
import { useQuery } from "@tanstack/react-query";

import { history, type GateEvent } from "@/api/gates";
import { say } from "@/language/say";
import { Loading } from "@/parts/empty";
import { Card } from "@/parts/page";
import { At } from "@/parts/time";

const SHOWN = 30;

export function History() {
  const ofQueues = useQuery(history("queue"));
  const ofBreakers = useQuery(history("breaker"));
  const events = [...(ofQueues.data?.events ?? []), ...(ofBreakers.data?.events ?? [])].sort((a, b) => b.seq - a.seq);
  return (
    <Card
      title={say("Lately")}
      twin={{
        command: "taskyard events --event 'queue.*'\ntaskyard events --event 'breaker.*'",
        path: "/api/events?event=queue.*&order=newest",
      }}
    >
      {ofQueues.isPending || ofBreakers.isPending ? (
        <Loading />
      ) : events.length === 0 ? (
        <p className="card-body quiet">{say("No queue was paused and no breaker has moved lately.")}</p>
      ) : (
        <ol className="gate-history">
          {events.slice(0, SHOWN).map((event) => (
            <li key={event.seq}>
              <At at={event.at} />
              <span>{wordsOf(event)}</span>
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}

const WORDS: Record<string, (name: string) => string> = {
  "queue.paused": (name) => say("Queue {name} was paused", { name }),
  "queue.resumed": (name) => say("Queue {name} was resumed", { name }),
  "queue.preset": (name) => say("Queue {name} has another preset", { name }),
  "breaker.opened": (name) => say("The breaker of {name} opened", { name }),
  "breaker.closed": (name) => say("The breaker of {name} closed", { name }),
};

function wordsOf({ event, payload }: GateEvent): string {
  const name = text(payload["queue"]) ?? text(payload["type"]) ?? "";
  const words = WORDS[event]?.(name) ?? event;
  const by = text(payload["by"]);
  const why = text(payload["why"]);
  return [words, by && say("by {who}", { who: by }), why && `: ${why}`].filter(Boolean).join(" ").replace(" :", ":");
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
