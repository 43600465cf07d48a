/** What puts work in by itself, in plain words. */
import { say } from "@/language/say";
import { ViewerNote } from "@/parts/action";
import { Page } from "@/parts/page";

import { ScheduleList } from "./schedule-list";
import "./schedules.css";
import { TriggerList } from "./trigger-list";

export default function Schedules() {
  return (
    <Page
      title={say("Schedules")}
      heading={say("Schedules and triggers")}
      lead={say("What puts work in by itself: by the clock, or when something happens.")}
    >
      <ViewerNote />
      <ScheduleList />
      <TriggerList />
    </Page>
  );
}
