/** What holds work back: paused queues, open breakers, throttles, and what was done to them. */
import { say } from "@/language/say";
import { ViewerNote } from "@/parts/action";
import { Page } from "@/parts/page";

import { Breakers } from "./breakers";
import { History } from "./history";
import { QueueList } from "./queue-list";
import "./queues.css";
import { Throttles } from "./throttles";

export default function Queues() {
  return (
    <Page
      title={say("Queues")}
      heading={say("Queues, breakers, throttles")}
      lead={say("What may hold work back, and what was done to it.")}
    >
      <ViewerNote />
      <QueueList />
      <div className="gates">
        <Breakers />
        <Throttles />
      </div>
      <History />
    </Page>
  );
}
