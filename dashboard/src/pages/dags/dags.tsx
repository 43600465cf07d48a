/** Every DAG, newest first. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { CopyPlus, Plus, Workflow } from "lucide-react";
import { Link } from "react-router";

import { dags, type DagInShort } from "@/api/dags";
import { say } from "@/language/say";
import { Id, quoted } from "@/parts/copy";
import { Broken, Empty, Loading } from "@/parts/empty";
import { Meter } from "@/parts/meter";
import { Money } from "@/parts/money";
import { Card, Page } from "@/parts/page";
import { StatusBadge } from "@/parts/status";
import { Ago, At, Lasted } from "@/parts/time";

import { asOptions, asQuery, useDagFilter } from "./dag-filter";
import { DagFilterBar } from "./dag-filter-bar";

export default function Dags() {
  const filtering = useDagFilter();
  const { filter, isNarrow } = filtering;
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(dags(filter));
  const found = data?.pages.flatMap((page) => page.dags);
  return (
    <Page
      title={say("DAGs")}
      lead={say("Graphs of tasks: what was put in together, and what grew from it.")}
      twin={{
        command: ["taskyard", "dags", ...asOptions(filter).map(quoted)].join(" "),
        path: `/api/dags${asQuery(filter)}`,
      }}
      actions={
        <Link to="/dags/new" className="button">
          <Plus aria-hidden /> {say("New DAG")}
        </Link>
      }
    >
      <DagFilterBar {...filtering} />
      <Card>
        {error !== null && found === undefined && <Broken error={error} retry={() => void refetch()} />}
        {error === null && found === undefined && <Loading rows={8} />}
        {found?.length === 0 && !hasNextPage && isNarrow && (
          <Empty icon={Workflow} title={say("No DAG matches")}>
            {say("Take a filter away, or look for something else.")}
          </Empty>
        )}
        {found?.length === 0 && !isNarrow && (
          <Empty icon={Workflow} title={say("No DAG yet")} command="taskyard submit examples/landing_page.yaml">
            {say("A DAG is a file that names tasks and what each of them needs. Put one in:")}
          </Empty>
        )}
        {found !== undefined && found.length > 0 && <Table dags={found} />}
      </Card>
      {hasNextPage && (
        <div>
          <button type="button" className="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {say("Show older ones")}
          </button>
        </div>
      )}
    </Page>
  );
}

function Table({ dags: shown }: { dags: readonly DagInShort[] }) {
  return (
    <div className="table-frame">
      <table className="table stacked">
        <thead>
          <tr>
            <th>{say("DAG")}</th>
            <th>{say("Status")}</th>
            <th>{say("Put in")}</th>
            <th>{say("By")}</th>
            <th className="number">{say("Took")}</th>
            <th className="number">{say("Spent")}</th>
            <th>{say("Of its budget")}</th>
            <th>{say("Id")}</th>
            <th>
              <span className="sr-only">{say("Again")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((dag) => (
            <tr key={dag.id}>
              <td>
                <Link className="row-name" to={`/dags/${dag.id}`}>
                  {dag.title || say("untitled")}
                </Link>{" "}
                {dag.tags.map((tag) => (
                  <span key={tag} className="chip">
                    {tag}
                  </span>
                ))}
              </td>
              <td>
                <StatusBadge status={dag.status} />
              </td>
              <td>
                <Ago at={dag.created_at} />{" "}
                <span className="quiet dags-date">
                  <At at={dag.created_at} />
                </span>
              </td>
              <td>{dag.created_by}</td>
              <td className="number">
                <Lasted from={dag.created_at} to={dag.ended_at} />
              </td>
              <td className="number">
                <Money usd={dag.spent_usd} />
              </td>
              <td>
                <Meter label={say("Spent of its budget")} spent={dag.spent_usd} of={dag.budget_ceiling_usd} />
              </td>
              <td>
                <Id id={dag.id} />
              </td>
              <td>
                <Link
                  className="button plain square small"
                  to={`/dags/new?like=${dag.id}`}
                  aria-label={say("Again like {title}", { title: dag.title || say("this one") })}
                  title={say("Again like this one")}
                >
                  <CopyPlus aria-hidden />
                </Link>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
