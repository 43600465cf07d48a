import { useQuery } from "@tanstack/react-query";
import { Gauge, Unlock } from "lucide-react";

import { liftThrottle, throttles, type Throttle } from "@/api/gates";
import { say } from "@/language/say";
import { useEvery } from "@/live/live";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";
import { Broken, Empty, Loading } from "@/parts/empty";
import { Card } from "@/parts/page";
import { Until } from "@/parts/until";

const AGAIN = 5_000; // milliseconds: that one is over is no event

export function ThrottleWaits() {
  const { data, error, refetch } = useQuery({ ...throttles, refetchInterval: useEvery(AGAIN) });
  return (
    <Card title={say("Throttles")} twin={{ command: "taskyard queues throttles", path: "/api/throttles" }}>
      {data === undefined && (error === null ? <Loading /> : <Broken error={error} retry={() => void refetch()} />)}
      {data?.throttles.length === 0 && (
        <Empty icon={Gauge} title={say("Nothing is slowed down")}>
          {say(
            "After a rate limit, others leave that type and model alone for half of the wait. They lose no attempt.",
          )}
        </Empty>
      )}
      <ul className="waits">
        {data?.throttles.map((each) => (
          <li key={`${each.type} ${each.model}`}>
            <span className="waits-name">
              {each.type} <span className="quiet">{each.model ?? say("any model")}</span>
            </span>
            <Until at={each.until} over="over" />
            <Lift throttle={each} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Lift({ throttle: { type, model } }: { throttle: Throttle }) {
  return (
    <Action
      label={say("Lift")}
      icon={Unlock}
      needs="operate"
      small
      title={say("Lift the throttle of {type}", { type })}
      confirm={say("Lift it")}
      command={`taskyard queues lift ${quoted(type)}${model === null ? "" : ` --model ${quoted(model)}`}`}
      run={(via) => liftThrottle(via, type, model)}
      done={say("Tasks of type {type} are handed out again", { type })}
    >
      <p>
        {say(
          "Tasks of this type are handed out again at once. Those that met the limit themselves wait until the time their provider named. If the limit still stands, the next one to meet it slows the others down again.",
        )}
      </p>
    </Action>
  );
}
