/** What hosts agents, and when it was last heard of. */
import { useQuery } from "@tanstack/react-query";
import { Server } from "lucide-react";

import { runtimes, type Agent, type Runtime } from "@/api/crews";
import { say } from "@/language/say";
import { useEvery } from "@/live/live";
import { Id } from "@/parts/copy";
import { Empty } from "@/parts/empty";
import { gathered } from "@/parts/gather";
import { Card } from "@/parts/page";
import { Ago } from "@/parts/time";

const HEARTBEATS = 5_000; // milliseconds: no event tells of one
const REGISTERING = `curl -X POST ${location.origin}/api/runtimes -H 'content-type: application/json' -d '{"id": "laptop"}'`;

export function Runtimes({ agents: known }: { agents: readonly Agent[] }) {
  const every = useEvery(HEARTBEATS);
  const { data } = useQuery({ ...runtimes, refetchInterval: every });
  if (data === undefined) return null;
  return (
    <Card title={say("Runtimes")} twin={{ command: "taskyard agents runtimes", path: "/api/runtimes" }}>
      {data.runtimes.length === 0 ? (
        <Empty icon={Server} title={say("No runtime is registered")} command={REGISTERING}>
          {say("A daemon that hosts agents registers itself, so that its tasks come back at once when it restarts.")}
        </Empty>
      ) : (
        <RuntimeTable runtimes={data.runtimes} agents={known} />
      )}
    </Card>
  );
}

/** A runtime may have several processes, each with agents of its own. */
const processOf = (runtime: string | null, incarnation: string | null) => JSON.stringify([runtime, incarnation]);

function RuntimeTable({ runtimes: shown, agents: known }: { runtimes: readonly Runtime[]; agents: readonly Agent[] }) {
  const hosted = gathered(known, (agent) => processOf(agent.runtime_id, agent.incarnation));
  return (
    <div className="table-frame">
      <table className="table">
        <thead>
          <tr>
            <th>{say("Runtime")}</th>
            <th>{say("Host")}</th>
            <th className="number">{say("Process")}</th>
            <th>{say("Version")}</th>
            <th>{say("Agents")}</th>
            <th>{say("Started")}</th>
            <th>{say("Last seen")}</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((runtime) => (
            <tr key={processOf(runtime.id, runtime.incarnation)}>
              <td>
                <Id id={runtime.id} whole />
              </td>
              <td>{runtime.hostname}</td>
              <td className="number">{runtime.pid}</td>
              <td>{runtime.version}</td>
              <td>{(hosted.get(processOf(runtime.id, runtime.incarnation)) ?? []).map(({ id }) => id).join(", ")}</td>
              <td>
                <Ago at={runtime.started_at} />
              </td>
              <td>
                <Ago at={runtime.last_heartbeat} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
