/** What can be done to a whole DAG. */
import { useQuery } from "@tanstack/react-query";
import { Ban, Wallet } from "lucide-react";
import { useState } from "react";

import { Reason } from "@/actions/cancel";
import { MoneyField } from "@/actions/money-field";
import { api } from "@/api/client";
import { cancelDag, setDagBudget, type Dag } from "@/api/dags";
import { wordsOf } from "@/api/problem";
import { say } from "@/language/say";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";

const OVER = new Set(["completed", "cancelled"]);

export function CancelDag({ dag }: { dag: Dag }) {
  const [asked, setAsked] = useState(false);
  const [reason, setReason] = useState("");
  const preview = useQuery({
    queryKey: ["cancel-dag", dag.id],
    queryFn: () => cancelDag(api, dag.id, "", true),
    enabled: asked,
    staleTime: 0,
  });
  const why = reason === "" ? "cancelled" : reason;
  return (
    <Action
      label={say("Cancel")}
      icon={Ban}
      needs="steer"
      danger
      title={say("Cancel this DAG")}
      confirm={
        preview.data === undefined
          ? say("Cancel them")
          : say("Cancel {tasks|# task|# tasks}", { tasks: preview.data.length })
      }
      command={`taskyard cancel ${dag.id}${reason === "" ? "" : ` --reason ${quoted(reason)}`}`}
      disabled={
        OVER.has(dag.status) ? say("It is {status}: nothing is left to cancel.", { status: dag.status }) : undefined
      }
      onOpen={() => setAsked(true)}
      run={(via) => cancelDag(via, dag.id, why, false)}
      done={say("The DAG is cancelled.")}
    >
      <p>
        {preview.data === undefined
          ? ((preview.error && wordsOf(preview.error)) ?? say("Counting what is left of it…"))
          : say(
              "{left|# task|# tasks} of {tasks} will be cancelled. Agents at work on them hear of it at their next heartbeat, and their results are refused. What is completed stays.",
              { left: preview.data.length, tasks: dag.tasks.length },
            )}
      </p>
      <Reason value={reason} onChange={setReason} />
    </Action>
  );
}

export function DagBudget({ dag }: { dag: Dag }) {
  const [ceiling, setCeiling] = useState(dag.budget_ceiling_usd ?? "");
  return (
    <Action
      label={say("Budget")}
      icon={Wallet}
      needs="operate"
      title={say("What this DAG may spend")}
      confirm={say("Set it")}
      command={`taskyard budget dag ${dag.id}${ceiling === "" ? "" : ` ${ceiling}`}`}
      onOpen={() => setCeiling(dag.budget_ceiling_usd ?? "")}
      run={(via) => setDagBudget(via, dag.id, ceiling === "" ? null : ceiling)}
      done={
        ceiling === ""
          ? say("The DAG may spend without limit.")
          : say("The DAG may spend ${ceiling} in all.", { ceiling })
      }
    >
      <MoneyField
        label={say("In all, in dollars")}
        hint={say("Empty: no limit. Tasks that would exceed it wait until there is money again.")}
        value={ceiling}
        onChange={setCeiling}
      />
    </Action>
  );
}
