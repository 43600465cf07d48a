import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { series, WINDOWS, type Series, type Window } from "@/api/overview";
import { say } from "@/language/say";
import { useEvery } from "@/live/live";
import { Chart } from "@/parts/chart";
import { Loading } from "@/parts/empty";
import { cents, span } from "@/parts/format";
import { Card } from "@/parts/page";
import { lookOf } from "@/parts/status";
import type { TwinProps } from "@/parts/twin";

const REFRESH = 5_000; // the server counts about as often
const DEPTHS = ["ready", "claimed", "running", "validating", "retrying", "pending"] as const;

export function Charts() {
  const [window, setWindow] = useState<Window>("1h");
  const every = useEvery(REFRESH);
  // What was asked for before stays until the other is there, so that nothing jumps.
  const { data } = useQuery({ ...series(window), refetchInterval: every, placeholderData: (before) => before });
  const days = useQuery({ ...series("14d"), refetchInterval: every });
  const twin = { command: `taskyard stats --by type --window ${window}`, path: `/api/series?window=${window}` };
  return (
    <section aria-label={say("Figures")} className="overview-charts">
      <div className="overview-window">
        <h2>{say("Flow")}</h2>
        <div className="segments" role="group" aria-label={say("Time window")}>
          {WINDOWS.map((each) => (
            <button key={each} type="button" aria-pressed={each === window} onClick={() => setWindow(each)}>
              {each}
            </button>
          ))}
        </div>
      </div>
      <div className="grid">
        <Throughput data={data} twin={twin} />
        <Depth data={data} twin={{ command: "taskyard stats", path: twin.path }} />
        <Times title={say("Time in line")} data={data} of={data?.wait_sec} twin={twin} />
        <Times title={say("Time at work")} data={data} of={data?.duration_sec} twin={twin} />
        <SpendByDay data={days.data} />
      </div>
    </section>
  );
}

interface FiguresProps {
  data: Series | undefined;
  twin: TwinProps;
}

function Throughput({ data, twin }: FiguresProps) {
  return (
    <Card title={say("Throughput")} twin={twin}>
      {data === undefined ? (
        <Loading />
      ) : (
        <div className="card-body">
          <Chart
            label={say("Tasks in each {time}", { time: span(data.bucket_sec) })}
            at={data.at}
            kind="area"
            series={[
              { name: say("put in"), tone: "info", values: data.created },
              { name: say("completed"), tone: "good", values: data.completed },
              { name: say("failed attempts"), tone: "warn", values: data.failed },
              { name: say("dead"), tone: "bad", values: data.dead },
            ]}
          />
        </div>
      )}
    </Card>
  );
}

function Depth({ data, twin }: FiguresProps) {
  return (
    <Card title={say("Unfinished tasks by status")} twin={twin}>
      {data === undefined ? (
        <Loading />
      ) : (
        <div className="card-body">
          <Chart
            label={say("Unfinished tasks by status")}
            at={data.at}
            kind="area"
            stacked
            series={DEPTHS.filter((status) => data.depth[status] !== undefined).map((status) => ({
              name: lookOf(status).word,
              tone: lookOf(status).tone,
              values: data.depth[status] ?? [],
            }))}
          />
        </div>
      )}
    </Card>
  );
}

function Times({ title, data, of, twin }: FiguresProps & { title: string; of: Series["wait_sec"] | undefined }) {
  return (
    <Card title={title} twin={twin}>
      {data === undefined || of === undefined ? (
        <Loading />
      ) : (
        <div className="card-body">
          <Chart
            label={say("{title}, percentiles", { title })}
            at={data.at}
            unit={span}
            series={[
              { name: "p50", tone: "good", values: of.p50 },
              { name: "p95", tone: "warn", values: of.p95 },
              { name: "p99", tone: "bad", values: of.p99 },
            ]}
          />
        </div>
      )}
    </Card>
  );
}

function SpendByDay({ data }: { data: Series | undefined }) {
  return (
    <Card title={say("Spend by day")} twin={{ command: "taskyard stats --days 14", path: "/api/series?window=14d" }}>
      {data === undefined ? (
        <Loading />
      ) : (
        <div className="card-body">
          <Chart
            label={say("Spend by day")}
            at={data.at.map(asLocalDay)}
            kind="bars"
            byDay
            unit={cents}
            series={[{ name: "spent", tone: "accent", values: data.spend_usd.map(Number) }]}
          />
        </div>
      )}
    </Card>
  );
}

/** The yard's days begin at midnight UTC. Each is drawn at the reader's own midnight, or some would show as the day before. */
function asLocalDay(at: string): string {
  return new Date(`${at.slice(0, 10)}T00:00`).toISOString();
}
