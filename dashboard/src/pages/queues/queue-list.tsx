import { useQuery } from "@tanstack/react-query";
import { CirclePause, CirclePlay, Inbox } from "lucide-react";
import { Link } from "react-router";

import { pauseQueue, queues, resumeQueue, type Queue } from "@/api/gates";
import { shares } from "@/api/overview";
import { say } from "@/language/say";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";
import { Broken, Empty, Loading } from "@/parts/empty";
import { count } from "@/parts/format";
import { Card } from "@/parts/page";
import { Sparkline, sum } from "@/parts/sparkline";
import { StatusBadge } from "@/parts/status";

const NOTHING = { completed: [], failed: [] };

/** In an hour, as it was in the last. */
function rate(share: { completed: readonly number[] } | undefined): string {
  return `${count(sum(share?.completed ?? []))}/h`;
}

export function QueueList() {
  const { data, error, refetch } = useQuery(queues);
  const series = useQuery(shares("queue"));
  return (
    <Card
      title={say("Queues")}
      twin={{ command: "taskyard queues ls\ntaskyard stats --by queue", path: "/api/queues" }}
    >
      {data === undefined && (error === null ? <Loading /> : <Broken error={error} retry={() => void refetch()} />)}
      {data?.queues.length === 0 && (
        <Empty
          icon={Inbox}
          title={say("No queue yet")}
          command="taskyard enqueue research --prompt 'Compare the three vendors'"
        >
          {say("A queue is there as soon as a task is put into it:")}
        </Empty>
      )}
      {data !== undefined && data.queues.length > 0 && (
        <div className="table-frame">
          <table className="table stacked gate-table">
            <thead>
              <tr>
                <th>{say("Queue")}</th>
                <th>{say("State")}</th>
                <th className="number">{say("Ready")}</th>
                <th className="number">{say("Completed")}</th>
                <th>{say("Last hour")}</th>
                <th>
                  <span className="sr-only">{say("Actions")}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {data.queues.map((queue) => (
                <tr key={queue.queue}>
                  <td>
                    <Link className="row-name" to={`/tasks?queue=${encodeURIComponent(queue.queue)}`}>
                      {queue.queue}
                    </Link>{" "}
                    <span className="chip" title={say("The preset that its new tasks follow")}>
                      {queue.preset}
                    </span>
                  </td>
                  <td>
                    <StatusBadge
                      status={queue.paused ? "paused" : "active"}
                      word={queue.paused ? "paused" : "flowing"}
                    />
                  </td>
                  <td className="number">
                    {count(queue.ready)} <span className="gate-unit">{say("ready")}</span>
                  </td>
                  <td className="number">
                    {rate(series.data?.shares?.[queue.queue])} <span className="gate-unit">{say("completed")}</span>
                  </td>
                  <td>
                    <Sparkline {...(series.data?.shares?.[queue.queue] ?? NOTHING)} over={say("the last hour")} />
                  </td>
                  <td className="gate-actions">{queue.paused ? <Resume queue={queue} /> : <Pause queue={queue} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function Pause({ queue: { queue } }: { queue: Queue }) {
  return (
    <Action
      label={say("Pause")}
      icon={CirclePause}
      needs="operate"
      small
      title={say("Pause {queue}", { queue })}
      command={`taskyard queues pause ${quoted(queue)}`}
      run={(via) => pauseQueue(via, queue)}
      done={say("{queue} is paused", { queue })}
    >
      <p>
        {say("Nothing more is handed out of it. What is claimed or running goes on, and tasks can still be put in.")}
      </p>
    </Action>
  );
}

function Resume({ queue: { queue } }: { queue: Queue }) {
  return (
    <Action
      label={say("Resume")}
      icon={CirclePlay}
      needs="operate"
      small
      title={say("Resume {queue}", { queue })}
      command={`taskyard queues resume ${quoted(queue)}`}
      run={(via) => resumeQueue(via, queue)}
      done={say("{queue} flows again", { queue })}
    >
      <p>{say("Its tasks are handed out again.")}</p>
    </Action>
  );
}
