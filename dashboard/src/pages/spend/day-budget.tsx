import { Wallet } from "lucide-react";
import { useState } from "react";

import { MoneyField } from "@/actions/money-field";
import { setBudget, type Settings } from "@/api/spend";
import { say } from "@/language/say";
import { Action } from "@/parts/action";

/** What the workspace may spend in a day. */
export function DayBudget({ settings }: { settings: Settings }) {
  const [daily, setDaily] = useState("");
  const [reserve, setReserve] = useState("");
  const kept = reserve === "" ? "0" : reserve;
  return (
    <Action
      label={say("Daily budget")}
      icon={Wallet}
      needs="operate"
      title={say("What may be spent in a day")}
      confirm={say("Set it")}
      command={`taskyard budget set${daily === "" ? "" : ` --daily ${daily}`} --reserve ${kept}`}
      onOpen={() => {
        setDaily(settings.daily_budget_usd ?? "");
        setReserve(settings.default_reserve_usd);
      }}
      run={(via) => setBudget(via, daily === "" ? null : daily, kept)}
      done={daily === "" ? say("No limit for the day") : say("${daily} may be spent in a day", { daily })}
    >
      <MoneyField
        label={say("In a day, in dollars")}
        hint={say("Empty: no limit. Days begin at midnight UTC. What would exceed it waits until the next one.")}
        value={daily}
        onChange={setDaily}
      />
      <MoneyField
        label={say("What a task without a maximum reserves")}
        hint={say("Held back while it runs, so that many at once cannot overspend together.")}
        value={reserve}
        onChange={setReserve}
      />
    </Action>
  );
}
