import { Pause, Play } from "lucide-react";

import { say } from "@/language/say";
import { useLive } from "@/live/live";
import { inShort } from "@/parts/format";

import { useShortcut } from "./shortcuts";

const WORDS = { connecting: say("Connecting"), live: say("Live"), broken: say("Reconnecting") };
const TOLD = {
  connecting: say("Live updates connecting"),
  live: say("Live updates on"),
  broken: say("Live updates reconnecting"),
};

/** Whether the page follows the yard, and the switch that stops it from moving under the reader's eyes. */
export function LiveSwitch() {
  const { connection, paused, heldBack, setPaused } = useLive();
  useShortcut("p", say("Pause or resume live updates"), () => setPaused(!paused));
  const words = paused ? say("Paused") : WORDS[connection];
  return (
    <button
      type="button"
      className={`live-switch ${paused ? "paused" : connection}`}
      role="switch"
      aria-checked={!paused}
      aria-label={paused ? say("Live updates paused") : TOLD[connection]}
      title={paused ? say("Follow the yard again") : say("Stop live updates on this page")}
      onClick={() => setPaused(!paused)}
    >
      <span className="live-dot" aria-hidden />
      <span>{words}</span>
      {heldBack > 0 && <span className="quiet">{say("{number} new", { number: inShort(heldBack) })}</span>}
      {paused ? <Play aria-hidden /> : <Pause aria-hidden />}
    </button>
  );
}
