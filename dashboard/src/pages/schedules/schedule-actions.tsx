/** What can be done to a schedule. */
import { Play } from "lucide-react";

import { pauseSchedule, removeSchedule, resumeSchedule, runSchedule, type Schedule } from "@/api/sources";
import { say } from "@/language/say";
import { Action } from "@/parts/action";

import { EditSchedule } from "./schedule-form";
import { SourceActions, type Steering } from "./source-actions";

const STEERING: Steering = {
  group: "schedules",
  pause: pauseSchedule,
  resume: resumeSchedule,
  remove: removeSchedule,
  whilePaused: say("No time of it fires until it is resumed. What it has made goes on."),
  onceResumed: say("It goes on from now. The times that passed meanwhile are not made up for."),
  resumed: (id) => say("{id} goes on", { id }),
};

export function ScheduleActions({ schedule }: { schedule: Schedule }) {
  const { id, paused } = schedule;
  return (
    <>
      <EditSchedule schedule={schedule} />
      <Action
        label={say("Run now")}
        icon={Play}
        needs="steer"
        small
        title={say("Run {id} now", { id })}
        command={`taskyard schedules run ${id}`}
        run={(via) => runSchedule(via, id)}
        done={say("{id} was run", { id })}
      >
        <p>{say("It makes its work once, at once. Its own times stay as they are.")}</p>
      </Action>
      <SourceActions id={id} isPaused={paused} steering={STEERING} />
    </>
  );
}
