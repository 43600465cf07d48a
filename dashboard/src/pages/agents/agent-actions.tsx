/** What can be done to an agent. */
import { CirclePause, CirclePlay, Trash2 } from "lucide-react";

import { drain, removeAgent, resume, type Agent } from "@/api/crews";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";
import { plural } from "@/parts/format";

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
      label="Drain"
      icon={CirclePause}
      needs="operate"
      small
      disabled={agent.status === "offline" ? "It is offline: it gets no work as it is." : undefined}
      title={`Drain ${agent.id}`}
      command={`taskyard agents drain ${quoted(agent.id)}`}
      run={() => drain(agent.id)}
      done={`${agent.id} gets nothing new`}
    >
      <p>
        {agent.current_tasks === 0
          ? "It is idle, and gets no work until it is resumed."
          : `It finishes the ${plural(agent.current_tasks, "task")} it holds, and gets nothing new until it is resumed.`}
      </p>
    </Action>
  );
}

function Resume({ agent }: { agent: Agent }) {
  return (
    <Action
      label="Resume"
      icon={CirclePlay}
      needs="operate"
      small
      title={`Resume ${agent.id}`}
      command={`taskyard agents resume ${quoted(agent.id)}`}
      run={() => resume(agent.id)}
      done={`${agent.id} gets work again`}
    >
      <p>It gets work again.</p>
    </Action>
  );
}

function Remove({ agent }: { agent: Agent }) {
  return (
    <Action
      label="Remove"
      icon={Trash2}
      needs="operate"
      small
      danger
      title={`Remove ${agent.id}`}
      command={`taskyard agents rm ${quoted(agent.id)}`}
      run={() => removeAgent(agent.id)}
      done={`${agent.id} is forgotten`}
    >
      <p>
        It is forgotten
        {agent.current_tasks > 0 && `, and the ${plural(agent.current_tasks, "task")} it holds go to others`}. It is
        back as soon as it registers again; to keep it from working, drain it or revoke its token.
      </p>
    </Action>
  );
}
