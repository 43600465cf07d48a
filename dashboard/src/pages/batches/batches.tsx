/** The cheap lane: batches of model calls, what was sent of each, and what is still to come. */
import { useQuery } from "@tanstack/react-query";
import { PackageOpen } from "lucide-react";
import { Link } from "react-router";

import { batches, LISTED, type ProviderBatch } from "@/api/batches";
import { say } from "@/language/say";
import { Broken, Empty, Loading } from "@/parts/empty";
import { shortId } from "@/parts/format";
import { Card, Page } from "@/parts/page";
import { StatusBadge } from "@/parts/status";
import { Ago } from "@/parts/time";
import { Until } from "@/parts/until";

import "./batches.css";

export default function Batches() {
  const { data, error, refetch } = useQuery(batches);
  return (
    <Page title={say("Batches")} lead={say("Model calls that wait for a batch of their provider, at the batch price.")}>
      <Card
        title={say("Provider batches")}
        twin={{ command: `taskyard batches ls --limit ${LISTED}`, path: `/api/provider-batches?limit=${LISTED}` }}
      >
        {data === undefined && (error === null ? <Loading /> : <Broken error={error} retry={() => void refetch()} />)}
        {data?.length === 0 && (
          <Empty icon={PackageOpen} title={say("No batch yet")} command="taskyard enqueue TYPE --service batch">
            {say(
              "Calls of tasks with the service batch are gathered and sent together by an agent that has a provider.",
            )}
          </Empty>
        )}
        {data !== undefined && data.length > 0 && <Listed found={data} />}
      </Card>
    </Page>
  );
}

function Listed({ found }: { found: readonly ProviderBatch[] }) {
  return (
    <div className="table-frame">
      <table className="table batches">
        <thead>
          <tr>
            <th>{say("Batch")}</th>
            <th>{say("Status")}</th>
            <th>{say("Calls of")}</th>
            <th className="number">{say("Sent")}</th>
            <th className="number">{say("Outstanding")}</th>
            <th>{say("At the provider")}</th>
          </tr>
        </thead>
        <tbody>
          {found.map((batch) => (
            <tr key={batch.id}>
              <td>
                <Link className="row-name" to={`/tasks/${batch.id}`}>
                  {shortId(batch.id)}
                </Link>
                <div className="quiet">
                  <Ago at={batch.created_at} />
                </div>
              </td>
              <td>
                <StatusBadge status={batch.status} />
              </td>
              <td className="batches-calls">
                {batch.group}
                <div className="quiet">
                  {say("{provider}, by {agent}", { provider: batch.provider, agent: batch.agent_type })}
                </div>
              </td>
              <td className="number">{batch.parts.reduce((sum, part) => sum + part.calls, 0)}</td>
              <td className="number">{batch.outstanding}</td>
              <td>
                <Parts batch={batch} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Parts({ batch }: { batch: ProviderBatch }) {
  if (batch.parts.length === 0) return <span className="quiet">{say("not sent yet")}</span>;
  return (
    <ul className="batches-parts">
      {batch.parts.map((part) => (
        <li key={part.key}>
          <code>{part.provider_id}</code>{" "}
          <span className="quiet">
            {say("sent {ago}", { ago: <Ago at={part.sent_at} /> })}
            {part.expires_at !== null && batch.outstanding > 0 && (
              <>, {say("expires {until}", { until: <Until at={part.expires_at} /> })}</>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
