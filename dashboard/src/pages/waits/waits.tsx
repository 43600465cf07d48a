/** What work waits for outside of the yard: throttles, breakers and providers, each with its countdown. */
import { say } from "@/language/say";
import { ViewerNote } from "@/parts/action";
import { Page } from "@/parts/page";

import { BreakerWaits } from "./breaker-waits";
import { ProviderWaits } from "./provider-waits";
import { ThrottleWaits } from "./throttle-waits";
import "./waits.css";

export default function Waits() {
  return (
    <Page
      title={say("Waits")}
      lead={say("Rate limits, open breakers and providers: what holds work back, and for how long.")}
    >
      <ViewerNote />
      <div className="grid">
        <ThrottleWaits />
        <BreakerWaits />
      </div>
      <ProviderWaits />
    </Page>
  );
}
