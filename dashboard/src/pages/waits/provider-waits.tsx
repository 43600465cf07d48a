/** Tasks that wait for their next attempt: for a provider, or after a failure. */
import { useQuery } from "@tanstack/react-query";
import { Hourglass } from "lucide-react";
import { Link } from "react-router";

import { retryingSoon } from "@/api/gates";
import { say } from "@/language/say";
import { Broken, Empty, Loading } from "@/parts/empty";
import { Card } from "@/parts/page";
import { Until } from "@/parts/until";

export function ProviderWaits() {
  const { data, error, refetch } = useQuery(retryingSoon);
  return (
    <Card
      title={say("Tasks that wait for another try")}
      twin={{ command: "taskyard ls --status retrying", path: "/api/tasks?status=retrying" }}
    >
      {data === undefined && (error === null ? <Loading /> : <Broken error={error} retry={() => void refetch()} />)}
      {data?.tasks.length === 0 && (
        <Empty icon={Hourglass} title={say("No task waits for another try")}>
          {say("A task that failed, or that a provider turned away, waits here until its time comes.")}
        </Empty>
      )}
      {data !== undefined && data.tasks.length > 0 && (
        <ul className="waits">
          {data.tasks.map((task) => (
            <li key={task.id}>
              <span className="waits-name">
                <Link className="row-name" to={`/tasks/${task.id}`}>
                  {task.title || task.summary || task.type}
                </Link>{" "}
                <span className="chip">{task.type}</span>
                <span className="quiet waits-why">
                  {task.attempts === 0
                    ? say("no attempt was counted: its provider asked to wait")
                    : say("failed {attempts} of {most}", {
                        attempts: task.attempts,
                        most: task.max_attempts,
                      })}
                </span>
              </span>
              {task.wake_at !== null && <Until at={task.wake_at} />}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
