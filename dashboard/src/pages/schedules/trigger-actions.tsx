/** What can be done to a trigger. */
import { Zap } from "lucide-react";
import { useId, useRef, useState } from "react";

import { fireTrigger, pauseTrigger, removeTrigger, resumeTrigger, type Trigger } from "@/api/sources";
import { say } from "@/language/say";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";

import { SourceActions, type Steering } from "./source-actions";
import { EditTrigger } from "./trigger-form";

const STEERING: Steering = {
  group: "triggers",
  pause: pauseTrigger,
  resume: resumeTrigger,
  remove: removeTrigger,
  whilePaused: say("Nothing fires it until it is resumed."),
  onceResumed: say("It fires again, on what comes from now on."),
  resumed: (id) => say("{id} listens again", { id }),
};

const DONE = (outcome: string) => say("It has {outcome}", { outcome });
const TRIED = (outcome: string) => say("It would have {outcome}", { outcome });

export function TriggerActions({ trigger }: { trigger: Trigger }) {
  const { id, paused } = trigger;
  return (
    <>
      <EditTrigger trigger={trigger} />
      <FireByHand id={id} />
      <SourceActions id={id} isPaused={paused} steering={STEERING} />
    </>
  );
}

function FireByHand({ id }: { id: string }) {
  const [text, setText] = useState("{}");
  const [isTrial, setTrial] = useState(false);
  const said = useRef(""); // what came of it, for the word that it is done
  const field = useId();
  const data = objectIn(text);
  return (
    <Action
      label={say("Fire")}
      icon={Zap}
      needs="steer"
      small
      title={say("Fire {id} by hand", { id })}
      confirm={isTrial ? say("Try it") : say("Fire")}
      command={`taskyard triggers fire ${id} --data ${quoted(text)}${isTrial ? " --dry-run" : ""}`}
      ready={data !== null}
      run={async (via) => {
        const fire = await fireTrigger(via, id, data ?? {}, isTrial);
        said.current = (isTrial ? TRIED : DONE)(fire.outcome) + (fire.why === "" ? "" : `: ${fire.why}`);
      }}
      done={() => said.current}
    >
      <p>{say("What its template names must be there, as it would be in what comes.")}</p>
      <div className="field">
        <label htmlFor={field}>{say("Data (a JSON object)")}</label>
        <textarea
          id={field}
          className="mono"
          rows={6}
          spellCheck={false}
          value={text}
          aria-invalid={data === null}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      <label className="check">
        <input type="checkbox" checked={isTrial} onChange={(event) => setTrial(event.target.checked)} />
        {say("Only say what would come of it")}
      </label>
    </Action>
  );
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null; // somebody is still typing
  }
}
