/** What comes in by webhooks and what goes out to people and programs: how it stands, what was answered, and again. */
import { say } from "@/language/say";
import { ViewerNote } from "@/parts/action";
import { Page } from "@/parts/page";

import "./deliveries.css";
import { Incoming } from "./incoming";
import { Outgoing } from "./outgoing";
import { Sent } from "./sent";

export default function Deliveries() {
  return (
    <Page title={say("Deliveries")} lead={say("Webhooks that came in; notifications and callbacks that go out.")}>
      <ViewerNote />
      <Outgoing parked />
      <Outgoing parked={false} />
      <Incoming />
      <Sent />
    </Page>
  );
}
