/** What happens, as it happens: a tail of the log with filters, to be stopped and gone on with. */
import { Pause, Play, Radio } from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";

import { say } from "@/language/say";
import { useTail, type EventFilter, type TailedEvent } from "@/live/tail";
import { Broken, Empty } from "@/parts/empty";
import { FilterFields, useAddressFilter, type FilterFieldWords } from "@/parts/filter-fields";
import { clockTime, exactly, shortId } from "@/parts/format";
import { Json } from "@/parts/json";
import { Card, Page } from "@/parts/page";
import { useShortcut } from "@/shell/shortcuts";

import { asCommand, factsOf, toneOf } from "./words";
import "./events.css";

type Name = keyof EventFilter;
const NAMES: readonly Name[] = ["event", "task_type", "agent", "subject", "task_id", "dag_id"];
const FIELDS: readonly FilterFieldWords<Name>[] = [
  {
    name: "event",
    label: say("Event"),
    hint: "task.ready, task.*",
    known: [
      "task.*",
      "dag.*",
      "agent.*",
      "queue.*",
      "breaker.*",
      "signal.*",
      "notification.*",
      "schedule.*",
      "token.*",
    ],
  },
  { name: "task_type", label: say("Type of task"), hint: "code" },
  { name: "agent", label: say("Agent"), hint: say("held by, or addressed to") },
  { name: "subject", label: say("Subject"), hint: "issue:42" },
  { name: "task_id", label: say("Task"), hint: "task_…" },
  { name: "dag_id", label: "DAG", hint: "dag_…" },
];

export default function Events() {
  const filtering = useAddressFilter(NAMES);
  const [isGoing, setGoing] = useState(true);
  const { events, isConnected, problem } = useTail(filtering.filter, isGoing);
  useShortcut(".", isGoing ? say("Stop the tail") : say("Let the tail go on"), () => setGoing(!isGoing));
  const state = isGoing ? (isConnected ? say("live") : say("connecting")) : say("stopped");
  return (
    <Page
      title={say("Events")}
      lead={say("What happens, as it happens. What came while it was stopped is read when it goes on.")}
      actions={
        <button type="button" className="button" aria-pressed={!isGoing} onClick={() => setGoing(!isGoing)}>
          {isGoing ? <Pause aria-hidden /> : <Play aria-hidden />} {isGoing ? say("Stop") : say("Go on")}
        </button>
      }
    >
      <FilterFields fields={FIELDS} filtering={filtering} />
      <Card
        title={say("Newest first")}
        aside={
          <span className="quiet" role="status">
            {say("{events|# event|# events}", { events: events.length })}, {state}
          </span>
        }
        twin={{
          command: asCommand(filtering.filter),
          path: `/api/events?${new URLSearchParams({ ...filtering.filter, order: "newest" }).toString()}`,
        }}
      >
        {problem !== null && <Broken error={problem} />}
        {problem === null && events.length === 0 && (
          <Empty icon={Radio} title={say("Nothing has happened yet")} command="taskyard events --follow">
            {say("New events appear here by themselves.")}
          </Empty>
        )}
        {events.length > 0 && (
          <ol className="tail" aria-label={say("Events")}>
            {events.map((event) => (
              <Line key={event.seq} event={event} />
            ))}
          </ol>
        )}
      </Card>
    </Page>
  );
}

function Line({ event }: { event: TailedEvent }) {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <div className="tail-line">
        <time className="quiet" dateTime={event.at} title={exactly(event.at)}>
          {clockTime(event.at)}
        </time>
        <button
          type="button"
          className={`tail-event tone-${toneOf(event.event)}`}
          aria-expanded={open}
          title={open ? say("Less") : say("All that it says")}
          onClick={() => setOpen(!open)}
        >
          {event.event}
        </button>
        <span className="tail-of">
          {event.task_id !== null && <Link to={`/tasks/${event.task_id}`}>{shortId(event.task_id)}</Link>}
          {event.task_id === null && event.dag_id !== null && (
            <Link to={`/dags/${event.dag_id}`}>{shortId(event.dag_id)}</Link>
          )}{" "}
          {event.task_type !== null && <span className="chip">{event.task_type}</span>}
        </span>
        <span className="tail-facts quiet clip">{factsOf(event)}</span>
      </div>
      {open && <Json value={event} label={say("Event {seq}", { seq: event.seq })} />}
    </li>
  );
}
