import { useQuery } from "@tanstack/react-query";
import { Zap } from "lucide-react";

import { trigger as triggerOf, triggers, type Trigger } from "@/api/sources";
import { say } from "@/language/say";
import { Broken, Empty, Loading } from "@/parts/empty";

import { Card } from "@/parts/page";
import { Ago } from "@/parts/time";

import { MadeBy, MakesAndMade, Source } from "./source";
import { TriggerActions } from "./trigger-actions";
import { AddTrigger } from "./trigger-form";
import { conditionsInWords, makesInWords, triggerInWords } from "./words";

export function TriggerList() {
  const { data, error, refetch } = useQuery(triggers);
  return (
    <Card
      title={say("Triggers")}
      aside={<AddTrigger />}
      twin={{ command: "taskyard triggers ls", path: "/api/triggers" }}
    >
      {data === undefined && (error === null ? <Loading /> : <Broken error={error} retry={() => void refetch()} />)}
      {data?.triggers.length === 0 && (
        <Empty
          icon={Zap}
          title={say("No trigger yet")}
          command="taskyard hooks add reviews --github --ready-made pull-request-opened"
        >
          {say(
            "A trigger makes a task or a DAG when something happens: a signed delivery, a file, a DAG that ends, a figure that turns bad. For pull requests on GitHub:",
          )}
        </Empty>
      )}
      <ul>
        {data?.triggers.map((trigger) => (
          <Source
            key={trigger.id}
            kind="trigger"
            id={trigger.id}
            isPaused={trigger.paused}
            when={triggerInWords(trigger)}
            makes={makesInWords(trigger.template)}
            aside={trigger.source}
            actions={<TriggerActions trigger={trigger} />}
          >
            <Details trigger={trigger} />
          </Source>
        ))}
      </ul>
    </Card>
  );
}

function Details({ trigger }: { trigger: Trigger }) {
  const { data } = useQuery(triggerOf(trigger.id));
  const conditions = conditionsInWords(trigger.only);
  return (
    <>
      <dl className="facts">
        {conditions.length > 0 && (
          <>
            <dt>{say("Only where")}</dt>
            <dd>
              <ul>
                {conditions.map((condition) => (
                  <li key={condition}>
                    <code>{condition}</code>
                  </li>
                ))}
              </ul>
            </dd>
          </>
        )}
        <Watched watched={data?.watched ?? null} />
        {typeof data?.passed_over === "string" && (
          <>
            <dt>{say("Last passed over")}</dt>
            <dd>{data.passed_over}</dd>
          </>
        )}
        <MadeBy by={trigger.created_by} at={trigger.created_at} />
      </dl>
      <MakesAndMade template={trigger.template} fires={data?.fires} />
    </>
  );
}

function Watched({ watched }: { watched: Trigger["watched"] }) {
  if (watched === null) return null;
  return (
    <>
      <dt>{say("Seen since it last fired")}</dt>
      <dd>
        {say("{attempts|# attempt|# attempts}", { attempts: watched.attempts })}
        {watched.mean !== null && `, ${say("mean {mean}", { mean: watched.mean })}`}
        {watched.quiet_until !== null && <>, {say("quiet until {ago}", { ago: <Ago at={watched.quiet_until} /> })}</>}
      </dd>
    </>
  );
}
