/** What can be done to a whole DAG. */
import { useQuery } from "@tanstack/react-query";
import { Ban, Wallet } from "lucide-react";
import { useState } from "react";

import { Reason } from "@/actions/cancel";
import { MoneyField } from "@/actions/money-field";
import { cancelDag, setDagBudget, type Dag } from "@/api/dags";
import { wordsOf } from "@/api/problem";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";
import { plural } from "@/parts/format";

const OVER = new Set(["completed", "cancelled"]);

export function CancelDag({ dag }: { dag: Dag }) {
  const [asked, setAsked] = useState(false);
  const [reason, setReason] = useState("");
  const preview = useQuery({
    queryKey: ["cancel-dag", dag.id],
    queryFn: () => cancelDag(dag.id, "", true),
    enabled: asked,
    staleTime: 0,
  });
  const why = reason === "" ? "cancelled" : reason;
  return (
    <Action
      label="Cancel"
      icon={Ban}
      needs="steer"
      danger
      title="Cancel this DAG"
      confirm={preview.data === undefined ? "Cancel them" : `Cancel ${plural(preview.data.length, "task")}`}
      command={`taskyard cancel ${dag.id}${reason === "" ? "" : ` --reason ${quoted(reason)}`}`}
      disabled={OVER.has(dag.status) ? `It is ${dag.status}: nothing is left to cancel.` : undefined}
      onOpen={() => setAsked(true)}
      run={() => cancelDag(dag.id, why, false)}
      done="The DAG is cancelled."
    >
      <p>
        {preview.data === undefined
          ? ((preview.error && wordsOf(preview.error)) ?? "Counting what is left of it…")
          : `${plural(preview.data.length, "task")} of ${dag.tasks.length} will be cancelled. Agents at work on them hear of it at their next heartbeat, and their results are refused. What is completed stays.`}
      </p>
      <Reason value={reason} onChange={setReason} />
    </Action>
  );
}

export function DagBudget({ dag }: { dag: Dag }) {
  const [ceiling, setCeiling] = useState(dag.budget_ceiling_usd ?? "");
  return (
    <Action
      label="Budget"
      icon={Wallet}
      needs="operate"
      title="What this DAG may spend"
      confirm="Set it"
      command={`taskyard budget dag ${dag.id}${ceiling === "" ? "" : ` ${ceiling}`}`}
      onOpen={() => setCeiling(dag.budget_ceiling_usd ?? "")}
      run={() => setDagBudget(dag.id, ceiling === "" ? null : ceiling)}
      done={ceiling === "" ? "The DAG may spend without limit." : `The DAG may spend $${ceiling} in all.`}
    >
      <MoneyField
        label="In all, in dollars"
        hint="Empty: no limit. Tasks that would exceed it wait until there is money again."
        value={ceiling}
        onChange={setCeiling}
      />
    </Action>
  );
}
