/** A person's word to a task that waits for it. */
import { Check, MessageSquareReply, X, type LucideIcon } from "lucide-react";
import { useId, useState } from "react";

import { signal } from "@/api/letters";
import { say } from "@/language/say";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";

import { nameOf, type Subject } from "./subject";

interface SignalProps {
  task: Subject;
  name: string; // of the signal it waits for
  small?: boolean;
}

/** Approve, decline, or answer with anything else. */
export function SignalTask(props: SignalProps) {
  return (
    <>
      <Verdict {...props} isYes label={say("Approve")} icon={Check} />
      <Verdict {...props} isYes={false} label={say("Decline")} icon={X} />
      <Answer {...props} />
    </>
  );
}

interface VerdictProps extends SignalProps {
  isYes: boolean;
  label: string;
  icon: LucideIcon;
}

function Verdict({ task, name, small = false, isYes, label, icon }: VerdictProps) {
  const [note, setNote] = useState("");
  const field = useId();
  const data = note === "" ? { approved: isYes } : { approved: isYes, note };
  return (
    <Action
      label={label}
      icon={icon}
      needs="steer"
      small={small}
      danger={!isYes}
      title={`${label} “${nameOf(task)}”`}
      command={commandOf(task.id, name, data)}
      run={(via) => signal(via, task.id, name, data)}
      done={isYes ? say("Approved: the task goes on") : say("Declined: the task is told")}
    >
      <p>
        {say("The task waits for {name}. It is sent {data}, and what it does then is up to its agent.", {
          name: <code>{name}</code>,
          data: <code>{JSON.stringify({ approved: isYes })}</code>,
        })}
      </p>
      <div className="field">
        <label htmlFor={field}>{say("Note to the agent")}</label>
        <input id={field} value={note} maxLength={10_000} onChange={(event) => setNote(event.target.value)} />
      </div>
    </Action>
  );
}

function Answer({ task, name, small = false }: SignalProps) {
  const [text, setText] = useState("");
  const field = useId();
  return (
    <Action
      label={say("Answer")}
      icon={MessageSquareReply}
      needs="steer"
      small={small}
      title={say("Answer “{task}”", { task: nameOf(task) })}
      confirm={say("Send")}
      command={commandOf(task.id, name, text)}
      ready={text !== ""}
      run={(via) => signal(via, task.id, name, text)}
      done={say("Sent: the task goes on")}
    >
      <div className="field">
        <label htmlFor={field}>{say("What to say to {name}", { name: <code>{name}</code> })}</label>
        <textarea id={field} value={text} onChange={(event) => setText(event.target.value)} />
      </div>
    </Action>
  );
}

function commandOf(taskId: string, name: string, data: unknown): string {
  return `taskyard signal ${taskId} ${quoted(name)} --data ${quoted(JSON.stringify(data))}`;
}
