/** What all workers of a type may spend together: set by a person, or left to their code. */
import { Undo2, Wallet } from "lucide-react";
import { useId, useState } from "react";

import { MoneyField } from "@/actions/money-field";
import { setTypeBudget, takeBackBudget } from "@/api/crews";
import { say } from "@/language/say";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";

import type { Crew } from "./crews";

type Period = "ever" | "day" | "month";
const PERIODS: readonly Period[] = ["ever", "day", "month"];
const NAMES: Record<Period, string> = {
  ever: say("in all"),
  day: say("each day (UTC)"),
  month: say("each month (UTC)"),
};

export function BudgetActions({ crew }: { crew: Crew }) {
  return (
    <>
      <SetBudget crew={crew} />
      {crew.budget?.setBy === "operator" && <TakeBack crew={crew} />}
    </>
  );
}

function SetBudget({ crew: { type, budget } }: { crew: Crew }) {
  const [usd, setUsd] = useState("");
  const [per, setPer] = useState<Period>("ever");
  const field = useId();
  const limit = usd === "" ? "" : ` ${usd} --per ${per}`;
  return (
    <Action
      label={say("Budget")}
      icon={Wallet}
      needs="operate"
      small
      title={say("What {type} may spend", { type })}
      confirm={say("Set it")}
      command={`taskyard agents budget ${quoted(type)}${limit}`}
      onOpen={() => {
        setUsd(budget?.usd ?? "");
        setPer(PERIODS.find((each) => each === budget?.per) ?? "ever");
      }}
      run={(via) => setTypeBudget(via, type, usd === "" ? null : usd, per)}
      done={
        usd === ""
          ? say("{type} may spend without limit", { type })
          : say("{type} may spend ${usd} {period}", { type, usd, period: NAMES[per] })
      }
    >
      <MoneyField
        label={say("All its workers together, in dollars")}
        hint={say(
          "Empty: no limit. None of them gets a task that this could not pay for. It counts above what their code says.",
        )}
        value={usd}
        onChange={setUsd}
      />
      <div className="field">
        <label htmlFor={field}>{say("Counted")}</label>
        <select id={field} value={per} onChange={(event) => setPer(event.target.value as Period)}>
          {PERIODS.map((each) => (
            <option key={each} value={each}>
              {NAMES[each]}
            </option>
          ))}
        </select>
      </div>
    </Action>
  );
}

function TakeBack({ crew: { type } }: { crew: Crew }) {
  return (
    <Action
      label={say("Take back")}
      icon={Undo2}
      needs="operate"
      small
      title={say("Let the code of {type} say what it may spend", { type })}
      command={`taskyard agents budget ${quoted(type)} --take-back`}
      run={(via) => takeBackBudget(via, type)}
      done={say("{type} may spend what its code says", { type })}
    >
      <p>{say("What an operator set no longer counts; what its workers said when they registered does.")}</p>
    </Action>
  );
}
