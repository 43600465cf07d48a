/** Every DAG, newest first. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { CopyPlus, Plus, Workflow } from "lucide-react";
import { Link } from "react-router";

import { dags, type DagInShort } from "@/api/dags";
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
      title="DAGs"
      lead="Graphs of tasks: what was put in together, and what grew from it."
      twin={{
        command: ["taskyard", "dags", ...asOptions(filter).map(quoted)].join(" "),
        path: `/api/dags${asQuery(filter)}`,
      }}
      actions={
        <Link to="/dags/new" className="button">
          <Plus aria-hidden /> New DAG
        </Link>
      }
    >
      <DagFilterBar {...filtering} />
      <Card>
        {error !== null && found === undefined && <Broken error={error} retry={() => void refetch()} />}
        {error === null && found === undefined && <Loading rows={8} />}
        {found?.length === 0 && !hasNextPage && isNarrow && (
          <Empty icon={Workflow} title="No DAG matches">
            Take a filter away, or look for something else.
          </Empty>
        )}
        {found?.length === 0 && !isNarrow && (
          <Empty icon={Workflow} title="No DAG yet" command="taskyard submit examples/landing_page.yaml">
            A DAG is a file that names tasks and what each of them needs. Put one in:
          </Empty>
        )}
        {found !== undefined && found.length > 0 && <Table dags={found} />}
      </Card>
      {hasNextPage && (
        <div>
          <button type="button" className="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show older ones
          </button>
        </div>
      )}
    </Page>
  );
}

function Table({ dags: shown }: { dags: readonly DagInShort[] }) {
  return (
    <div className="table-frame">
      <table className="table">
        <thead>
          <tr>
            <th>DAG</th>
            <th>Status</th>
            <th>Put in</th>
            <th>By</th>
            <th className="number">Took</th>
            <th className="number">Spent</th>
            <th>Of its budget</th>
            <th>Id</th>
            <th>
              <span className="sr-only">Again</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((dag) => (
            <tr key={dag.id}>
              <td>
                <Link className="row-name" to={`/dags/${dag.id}`}>
                  {dag.title || "untitled"}
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
                <Meter label="Spent of its budget" spent={dag.spent_usd} of={dag.budget_ceiling_usd} />
              </td>
              <td>
                <Id id={dag.id} />
              </td>
              <td>
                <Link
                  className="button plain square small"
                  to={`/dags/new?like=${dag.id}`}
                  aria-label={`Again like ${dag.title || "this one"}`}
                  title="Again like this one"
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
