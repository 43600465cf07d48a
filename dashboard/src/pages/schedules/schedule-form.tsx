/** A schedule made or changed: when, in which zone, what becomes of missed times, and what it makes. */
import { useQuery } from "@tanstack/react-query";
import { Pencil, Plus } from "lucide-react";
import { useEffect, useState } from "react";

import { wordsOf } from "@/api/problem";
import { addSchedule, preview, type Schedule, type ScheduleDraft } from "@/api/sources";
import { say } from "@/language/say";
import { Labelled } from "@/pages/new/task-form";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";
import { dayInWords } from "@/parts/format";
import { zones } from "@/parts/locale";

import { useWantedNew } from "./wanted-new";
import { WorkForm, type Work } from "./work-form";
import { whenInWords } from "./words";

const PATIENCE = 300; // milliseconds after the last key until the times are asked for

type Misfire = NonNullable<ScheduleDraft["misfire"]>;
type Busy = NonNullable<ScheduleDraft["busy"]>;

interface Asked {
  id: string;
  when: string; // words or cron, without a zone
  zone: string;
  misfire: Misfire;
  misfire_window_sec: number;
  busy: Busy;
}

const MISFIRES: Record<Misfire, string> = {
  skip: say("skip them"),
  once: say("make up for them once"),
  all: say("make up for all of them"),
};
const BUSY: Record<Busy, string> = {
  allow: say("let both run"),
  skip: say("skip the new one"),
  replace: say("cancel the old one"),
};

export function AddSchedule() {
  const start: Asked = { id: "", when: "", zone: "UTC", misfire: "once", misfire_window_sec: 86_400, busy: "allow" };
  return <ScheduleForm start={start} work={{ task: { type: "", prompt: "" } }} isNew />;
}

export function EditSchedule({ schedule }: { schedule: Schedule }) {
  const start: Asked = {
    id: schedule.id,
    when: withoutZone(schedule.when, schedule.timezone),
    zone: schedule.timezone,
    misfire: schedule.misfire as Asked["misfire"],
    misfire_window_sec: schedule.misfire_window_sec,
    busy: schedule.busy as Asked["busy"],
  };
  return <ScheduleForm start={start} work={schedule.template as Work} isNew={false} paused={schedule.paused} />;
}

interface ScheduleFormProps {
  start: Asked;
  work: Work;
  isNew: boolean;
  paused?: boolean;
}

function ScheduleForm({ start, work, isNew, paused = false }: ScheduleFormProps) {
  const [asked, setAsked] = useState(start);
  const [made, setMade] = useState<Work | null>(work);
  const when = `${asked.when.trim()} ${asked.zone}`.trim();
  const wanted = useWantedNew("schedule", isNew);
  const draft: ScheduleDraft = { ...rest(asked), when, ...(made ?? {}), paused, replace: !isNew };

  function set<Name extends keyof Asked>(name: Name, value: Asked[Name]) {
    setAsked({ ...asked, [name]: value });
  }

  return (
    <Action
      label={isNew ? say("Add") : say("Edit {id}", { id: start.id })}
      icon={isNew ? Plus : Pencil}
      needs="operate"
      small
      bare={!isNew}
      wide
      startsOpen={wanted}
      title={isNew ? say("Add a schedule") : say("Edit {id}", { id: start.id })}
      confirm={isNew ? say("Add it") : say("Change it")}
      command={commandOf(asked, when, made, isNew)}
      ready={asked.id !== "" && asked.when.trim() !== "" && made !== null}
      onOpen={() => {
        setAsked(start);
        setMade(work);
      }}
      run={(via) => addSchedule(via, draft)}
      done={() => (isNew ? say("{id} is added", { id: asked.id }) : say("{id} is changed", { id: asked.id }))}
    >
      <div className="schedule-form">
        <Labelled label={say("Name")} hint={say("Letters, digits, dots and dashes")}>
          {(id) => (
            <input id={id} value={asked.id} readOnly={!isNew} onChange={(event) => set("id", event.target.value)} />
          )}
        </Labelled>
        <Labelled label={say("When")} hint={say("every weekday at 9am · every 15 minutes · 30 2 * * *")}>
          {(id) => <input id={id} value={asked.when} onChange={(event) => set("when", event.target.value)} />}
        </Labelled>
        <Labelled label={say("Time zone")}>
          {(id) => (
            <select id={id} value={asked.zone} onChange={(event) => set("zone", event.target.value)}>
              {[...new Set([asked.zone, ...zones()])].map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          )}
        </Labelled>
        <Labelled label={say("Times that were missed")}>
          {(id) => (
            <select
              id={id}
              value={asked.misfire}
              onChange={(event) => set("misfire", event.target.value as Asked["misfire"])}
            >
              {Object.entries(MISFIRES).map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          )}
        </Labelled>
        <Labelled label={say("… within seconds")}>
          {(id) => (
            <input
              id={id}
              type="number"
              min={1}
              value={asked.misfire_window_sec}
              onChange={(event) => set("misfire_window_sec", Number(event.target.value))}
            />
          )}
        </Labelled>
        <Labelled label={say("If the last is still going")}>
          {(id) => (
            <select id={id} value={asked.busy} onChange={(event) => set("busy", event.target.value as Asked["busy"])}>
              {Object.entries(BUSY).map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          )}
        </Labelled>
      </div>
      {asked.when.trim() !== "" && <NextTimes when={when} zone={asked.zone} />}
      <WorkForm start={work} onChange={setMade} />
    </Action>
  );
}

/** How the time is understood, and the next five times, in words and in the chosen zone. */
function NextTimes({ when, zone }: { when: string; zone: string }) {
  const [asked, setAsked] = useState(when);
  useEffect(() => {
    const timer = window.setTimeout(() => setAsked(when), PATIENCE);
    return () => window.clearTimeout(timer);
  }, [when]);
  const { data, error } = useQuery(preview(asked));
  return (
    <div className="next-times" aria-live="polite">
      {error !== null && <p className="note tone-warn">{wordsOf(error)}</p>}
      {data !== undefined && (
        <>
          <p>
            <b>{whenInWords(data)}</b>
          </p>
          <ol aria-label={say("Next times")}>
            {data.next_times.map((at) => (
              <li key={at}>
                <time dateTime={at}>{dayInWords(at, zone)}</time>
              </li>
            ))}
          </ol>
          {data.next_times.length === 0 && <p className="quiet">{say("It never comes.")}</p>}
        </>
      )}
    </div>
  );
}

function rest({ id, misfire, misfire_window_sec, busy }: Asked) {
  return { id, misfire, misfire_window_sec, busy };
}

function withoutZone(when: string, zone: string): string {
  return when.endsWith(zone) ? when.slice(0, -zone.length).trim() : when;
}

function commandOf(asked: Asked, when: string, made: Work | null, isNew: boolean): string {
  const work = made === null ? [] : "dag" in made ? ["--dag", "dag.json"] : ["--task", JSON.stringify(made.task)];
  const words = [
    ...["schedules", "add", asked.id || "ID", asked.when.trim() === "" ? "WHEN" : when, ...work],
    ...["--misfire", asked.misfire, "--window", String(asked.misfire_window_sec), "--busy", asked.busy],
  ];
  return ["taskyard", ...words, ...(isNew ? [] : ["--replace"])].map(quoted).join(" ");
}
