import { useQuery } from "@tanstack/react-query";
import { Gauge } from "lucide-react";

import { throttles } from "@/api/gates";
import { useEvery } from "@/live/live";
import { Broken, Empty, Loading } from "@/parts/empty";
import { Card } from "@/parts/page";
import { Ago, At } from "@/parts/time";

const AGAIN = 5_000; // milliseconds: that one is over is no event

export function Throttles() {
  const { data, error, refetch } = useQuery({ ...throttles, refetchInterval: useEvery(AGAIN) });
  return (
    <Card title="Throttles">
      {data === undefined && (error === null ? <Loading /> : <Broken error={error} retry={() => void refetch()} />)}
      {data?.throttles.length === 0 && (
        <Empty icon={Gauge} title="Nothing is slowed down">
          When a provider answers with a rate limit, tasks of that type and model wait until it is over. They lose no
          attempt.
        </Empty>
      )}
      {data !== undefined && data.throttles.length > 0 && (
        <div className="table-frame">
          <table className="table">
            <thead>
              <tr>
                <th>Type</th>
                <th>Model</th>
                <th>Until</th>
              </tr>
            </thead>
            <tbody>
              {data.throttles.map((throttle) => (
                <tr key={`${throttle.type} ${throttle.model}`}>
                  <td>{throttle.type}</td>
                  <td>{throttle.model ?? <span className="quiet">any</span>}</td>
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
