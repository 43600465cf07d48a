/** What can be done to an agent. */
import { CirclePause, CirclePlay, Trash2, Wallet } from "lucide-react";
import { useState } from "react";

import { MoneyField } from "@/actions/money-field";
import { drain, removeAgent, resume, setAgentBudget, type Agent } from "@/api/crews";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";
import { plural } from "@/parts/format";

export function AgentActions({ agent }: { agent: Agent }) {
  return (
    <>
      {agent.status === "draining" ? <Resume agent={agent} /> : <Drain agent={agent} />}
      <Budget agent={agent} />
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

function Budget({ agent }: { agent: Agent }) {
  const [usd, setUsd] = useState(agent.budget_usd ?? "");
  return (
    <Action
      label="Budget"
      icon={Wallet}
      needs="operate"
      small
      title={`What ${agent.id} may spend`}
      confirm="Set it"
      command={`taskyard agents budget ${quoted(agent.id)}${usd === "" ? "" : ` ${usd}`}`}
      onOpen={() => setUsd(agent.budget_usd ?? "")}
      run={() => setAgentBudget(agent.id, usd === "" ? null : usd)}
      done={usd === "" ? `${agent.id} may spend without limit` : `${agent.id} may spend $${usd} in all`}
    >
      <MoneyField
        label="In all, in dollars"
        hint="Empty: no limit. It gets no task that it could not pay for."
        value={usd}
        onChange={setUsd}
      />
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
