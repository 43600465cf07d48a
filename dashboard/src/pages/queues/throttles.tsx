import { useQuery } from "@tanstack/react-query";
import { Gauge } from "lucide-react";

import { throttles } from "@/api/gates";
import { say } from "@/language/say";
import { useEvery } from "@/live/live";
import { Broken, Empty, Loading } from "@/parts/empty";
import { Card } from "@/parts/page";
import { Ago, At } from "@/parts/time";

const AGAIN = 5_000; // milliseconds: that one is over is no event

export function Throttles() {
  const { data, error, refetch } = useQuery({ ...throttles, refetchInterval: useEvery(AGAIN) });
  return (
    <Card title={say("Throttles")} twin={{ command: "taskyard queues throttles", path: "/api/throttles" }}>
      {data === undefined && (error === null ? <Loading /> : <Broken error={error} retry={() => void refetch()} />)}
      {data?.throttles.length === 0 && (
        <Empty icon={Gauge} title={say("Nothing is slowed down")}>
          {say(
            "When a provider answers with a rate limit, tasks of that type and model wait until it is over. They lose no attempt.",
          )}
        </Empty>
      )}
      {data !== undefined && data.throttles.length > 0 && (
        <div className="table-frame">
          <table className="table">
            <thead>
              <tr>
                <th>{say("Type")}</th>
                <th>{say("Model")}</th>
                <th>{say("Until")}</th>
              </tr>
            </thead>
            <tbody>
              {data.throttles.map((throttle) => (
                <tr key={`${throttle.type} ${throttle.model}`}>
                  <td>{throttle.type}</td>
                  <td>{throttle.model ?? <span className="quiet">{say("any")}</span>}</td>
                  <td>
                    <Ago at={throttle.until} />{" "}
                    <span className="quiet">
                      (<At at={throttle.until} />)
                    </span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}
