import { Pause, Play } from "lucide-react";

import { useLive } from "@/live/live";
import { inShort } from "@/parts/format";

import { useShortcut } from "./shortcuts";

const WORDS = { connecting: "Connecting", live: "Live", broken: "Reconnecting" };
const TOLD = { connecting: "connecting", live: "on", broken: "reconnecting" };

/** Whether the page follows the yard, and the switch that stops it from moving under the reader's eyes. */
export function LiveSwitch() {
  const { connection, paused, heldBack, setPaused } = useLive();
  useShortcut("p", "Pause or resume live updates", () => setPaused(!paused));
  const words = paused ? "Paused" : WORDS[connection];
  return (
    <button
      type="button"
      className={`live-switch ${paused ? "paused" : connection}`}
      role="switch"
      aria-checked={!paused}
      aria-label={`Live updates ${paused ? "paused" : TOLD[connection]}`}
      title={paused ? "Follow the yard again" : "Stop live updates on this page"}
      onClick={() => setPaused(!paused)}
    >
      <span className="live-dot" aria-hidden />
      <span>{words}</span>
      {heldBack > 0 && <span className="quiet">{inShort(heldBack)} new</span>}
      {paused ? <Play aria-hidden /> : <Pause aria-hidden />}
    </button>
  );
}
