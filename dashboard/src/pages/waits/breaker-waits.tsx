import { useQuery } from "@tanstack/react-query";
import { CircleCheck } from "lucide-react";

import { breakers } from "@/api/gates";
import { say } from "@/language/say";
import { useEvery } from "@/live/live";
import { Broken, Empty, Loading } from "@/parts/empty";
import { Card } from "@/parts/page";
import { StatusBadge } from "@/parts/status";
import { Until } from "@/parts/until";

import { CloseBreaker, OpenBreaker } from "../queues/breakers";

const AGAIN = 5_000; // milliseconds: that a breaker is half open now is no event

export function BreakerWaits() {
  const { data, error, refetch } = useQuery({ ...breakers, refetchInterval: useEvery(AGAIN) });
  const open = data?.breakers.filter((each) => each.state !== "closed");
  return (
    <Card
      title={say("Breakers")}
      aside={<OpenBreaker />}
      twin={{ command: "taskyard breakers ls", path: "/api/breakers" }}
    >
      {open === undefined && (error === null ? <Loading /> : <Broken error={error} retry={() => void refetch()} />)}
      {open?.length === 0 && <Empty icon={CircleCheck} title={say("Every breaker is closed")} />}
      <ul className="waits">
        {open?.map((each) => (
          <li key={each.type}>
            <span className="waits-name">
              {each.type} <StatusBadge status={each.state} />
              <span className="quiet waits-why">{each.why}</span>
            </span>
            {each.open_until === null ? (
              <span className="quiet">{say("a probe may go")}</span>
            ) : (
              <Probe at={each.open_until} />
            )}
            <CloseBreaker type={each.type} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Probe({ at }: { at: string }) {
  return <span>{say("probe {until}", { until: <Until at={at} /> })}</span>;
}
