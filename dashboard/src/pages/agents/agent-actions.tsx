/** What can be done to an agent. */
import { CirclePause, CirclePlay, Trash2 } from "lucide-react";

import { drain, removeAgent, resume, type Agent } from "@/api/crews";
import { say } from "@/language/say";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";

export function AgentActions({ agent }: { agent: Agent }) {
  return (
    <>
      {agent.status === "draining" ? <Resume agent={agent} /> : <Drain agent={agent} />}
      <Remove agent={agent} />
    </>
  );
}

function Drain({ agent }: { agent: Agent }) {
  return (
    <Action
      label={say("Drain")}
      icon={CirclePause}
      needs="operate"
      small
      disabled={agent.status === "offline" ? say("It is offline: it gets no work as it is.") : undefined}
      title={say("Drain {id}", { id: agent.id })}
      command={`taskyard agents drain ${quoted(agent.id)}`}
      run={(via) => drain(via, agent.id)}
      done={say("{id} gets nothing new", { id: agent.id })}
    >
      <p>
        {agent.current_tasks === 0
          ? say("It is idle, and gets no work until it is resumed.")
          : say("It finishes the {tasks|# task|# tasks} it holds, and gets nothing new until it is resumed.", {
              tasks: agent.current_tasks,
            })}
      </p>
    </Action>
  );
}

function Resume({ agent }: { agent: Agent }) {
  return (
    <Action
      label={say("Resume")}
      icon={CirclePlay}
      needs="operate"
      small
      title={say("Resume {id}", { id: agent.id })}
      command={`taskyard agents resume ${quoted(agent.id)}`}
      run={(via) => resume(via, agent.id)}
      done={say("{id} gets work again", { id: agent.id })}
    >
      <p>{say("It gets work again.")}</p>
    </Action>
  );
}

function Remove({ agent }: { agent: Agent }) {
  return (
    <Action
      label={say("Remove")}
      icon={Trash2}
      needs="operate"
      small
      danger
      title={say("Remove {id}", { id: agent.id })}
      command={`taskyard agents rm ${quoted(agent.id)}`}
      run={(via) => removeAgent(via, agent.id)}
      done={say("{id} is forgotten", { id: agent.id })}
    >
      <p>
        {agent.current_tasks > 0
          ? say("It is forgotten, and the {tasks|# task|# tasks} it holds go to others.", {
              tasks: agent.current_tasks,
            })
          : say("It is forgotten.")}{" "}
        {say("It is back as soon as it registers again; to keep it from working, drain it or revoke its token.")}
      </p>
    </Action>
  );
}
