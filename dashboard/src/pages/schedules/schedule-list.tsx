import { useQuery } from "@tanstack/react-query";
import { CalendarClock } from "lucide-react";
import { Link } from "react-router";

import { schedule as scheduleOf, schedules, type Schedule } from "@/api/sources";
import { say } from "@/language/say";
import { Broken, Empty, Loading } from "@/parts/empty";
import { shortId, span } from "@/parts/format";
import { Card } from "@/parts/page";
import { Ago, At } from "@/parts/time";

import { ScheduleActions } from "./schedule-actions";
import { AddSchedule } from "./schedule-form";
import { MadeBy, MakesAndMade, Source } from "./source";
import { makesInWords, whenInWords } from "./words";

const EXAMPLE =
  "taskyard schedules add audit 'every Monday at 09:00 Europe/Berlin' --type audit --prompt 'Audit the dependencies'";

export function ScheduleList() {
  const { data, error, refetch } = useQuery(schedules);
  return (
    <Card
      title={say("Schedules")}
      aside={<AddSchedule />}
      twin={{ command: "taskyard schedules ls", path: "/api/schedules" }}
    >
      {data === undefined && (error === null ? <Loading /> : <Broken error={error} retry={() => void refetch()} />)}
      {data?.schedules.length === 0 && (
        <Empty icon={CalendarClock} title={say("No schedule yet")} command={EXAMPLE}>
          {say("A schedule makes a task or a DAG at certain times, once each, however many servers there are:")}
        </Empty>
      )}
      <ul>
        {data?.schedules.map((schedule) => (
          <Source
            key={schedule.id}
            kind="schedule"
            id={schedule.id}
            isPaused={schedule.paused}
            when={whenInWords(schedule)}
            makes={makesInWords(schedule.template)}
            aside={<NextAndLast schedule={schedule} />}
            actions={<ScheduleActions schedule={schedule} />}
          >
            <Details schedule={schedule} />
          </Source>
        ))}
      </ul>
    </Card>
  );
}

function NextAndLast({ schedule: { next_at: next, last_run: last } }: { schedule: Schedule }) {
  return (
    <>
      {last !== null && (
        <span>
          {say("last {last}", {
            last: <Link to={last.startsWith("dag_") ? `/dags/${last}` : `/tasks/${last}`}>{shortId(last)}</Link>,
          })}
        </span>
      )}
      <span>{next === null ? say("no next time") : <NextTime at={next} />}</span>
    </>
  );
}

function NextTime({ at }: { at: string }) {
  return <>{say("next {ago}", { ago: <Ago at={at} /> })}</>;
}

const MISFIRES: Record<string, string> = {
  skip: say("are skipped"),
  once: say("are made up for once"),
  all: say("are all made up for"),
};
const BUSY: Record<string, string> = {
  allow: say("both run"),
  skip: say("the new one is skipped"),
  replace: say("the old one is cancelled"),
};

function Details({ schedule }: { schedule: Schedule }) {
  const { data } = useQuery(scheduleOf(schedule.id));
  return (
    <>
      <dl className="facts">
        <dt>{say("Next times")}</dt>
        <dd className="source-times">
          {data?.next_times.map((time) => (
            <At key={time} at={time} />
          ))}
          {data?.next_times.length === 0 && <span className="quiet">{say("none")}</span>}
        </dd>
        <dt>{say("Written as")}</dt>
        <dd>
          <code>{schedule.cron ?? schedule.when}</code>{" "}
          <span className="quiet">{say("in {timezone}", { timezone: schedule.timezone })}</span>
        </dd>
        <dt>{say("Missed times")}</dt>
        <dd>
          {say("{what} within {time}", {
            what: MISFIRES[schedule.misfire] ?? schedule.misfire,
            time: span(schedule.misfire_window_sec),
          })}
        </dd>
        <dt>{say("If the last is still going")}</dt>
        <dd>{BUSY[schedule.busy] ?? schedule.busy}</dd>
        <MadeBy by={schedule.created_by} at={schedule.created_at} />
      </dl>
      <MakesAndMade template={schedule.template} fires={data?.fires} />
    </>
  );
}
