/** What was spent on what, how fast money goes, and what may still be spent. */
import { useQuery } from "@tanstack/react-query";
import { Coins } from "lucide-react";
import { useSearchParams } from "react-router";

import { budget, ceilings, report } from "@/api/spend";
import { say } from "@/language/say";
import { Chart } from "@/parts/chart";
import { Broken, Empty, Loading } from "@/parts/empty";
import { cents } from "@/parts/format";
import { Card, Page } from "@/parts/page";
import { Tabs } from "@/parts/tabs";

import { Ceilings } from "./ceilings";
import { DayBudget } from "./day-budget";
import { Dearest } from "./dearest";
import "./spend.css";
import { Split } from "./split";
import { Today } from "./today";

const WINDOWS = [
  { name: "7", label: say("{days|# day|# days}", { days: 7 }) },
  { name: "30", label: say("{days|# day|# days}", { days: 30 }) },
  { name: "90", label: say("{days|# day|# days}", { days: 90 }) },
] as const;

export default function Spend() {
  const [asked, setAsked] = useSearchParams();
  const days = WINDOWS.find(({ name }) => name === asked.get("days"))?.name ?? "30";
  const { data, error, refetch } = useQuery(report(Number(days)));
  const limits = useQuery(ceilings);
  const settings = useQuery(budget);
  const twin = { command: `taskyard stats --days ${days}`, path: `/api/spend/report?days=${days}` };
  return (
    <Page
      title={say("Spend")}
      twin={{ command: "taskyard budget show", path: "/api/spend" }}
      lead={data && say("{sum} in {days|# day|# days}", { sum: cents(data.total_usd), days: Number(days) })}
      actions={
        <>
          <Tabs
            label={say("How far back")}
            tabs={WINDOWS}
            chosen={days}
            onChoose={(name) => setAsked({ days: name }, { replace: true })}
          />
          {settings.data && <DayBudget settings={settings.data} />}
        </>
      }
    >
      {limits.data && settings.data && <Today ceilings={limits.data.spend} budget={settings.data.daily_budget_usd} />}
      {data === undefined && (
        <Card>{error === null ? <Loading rows={8} /> : <Broken error={error} retry={() => void refetch()} />}</Card>
      )}
      {data !== undefined && Number(data.total_usd) === 0 && (
        <Card>
          <Empty
            icon={Coins}
            title={say("Nothing was spent")}
            command="taskyard complete TASK --lease LEASE --cost 0.03"
          >
            {say(
              "Agents say what an attempt has cost when they finish it, and with heartbeats before. From a handler: {call}",
              { call: <code>await task.spend(usd=0.03)</code> },
            )}
          </Empty>
        </Card>
      )}
      {data !== undefined && Number(data.total_usd) > 0 && (
        <>
          <Card title={say("By day")} twin={twin}>
            <div className="card-body">
              <Chart
                label={say("Dollars spent by day")}
                kind="bars"
                byDay
                at={data.by_day.map(({ name }) => localMidnight(name))}
                series={[
                  { name: say("Spent"), tone: "accent", values: data.by_day.map((day) => Number(day.spent_usd)) },
                ]}
                unit={cents}
                height={180}
              />
            </div>
          </Card>
          <div className="spend-splits">
            <Split title={say("By model")} twin={twin} shares={data.by_model} />
            <Split
              title={say("By type")}
              twin={twin}
              shares={data.by_type}
              to={(type) => `/tasks?type=${encodeURIComponent(type)}`}
            />
            <Split title={say("By agent")} twin={twin} shares={data.by_agent} />
            <Split title={say("By DAG")} twin={twin} shares={data.by_dag} to={(dag) => `/dags/${dag}`} />
          </div>
          <Dearest tasks={data.dearest} twin={{ command: "taskyard ls --sort cost", path: twin.path }} />
        </>
      )}
      {limits.data && <Ceilings ceilings={limits.data.spend} />}
    </Page>
  );
}

/** The yard's days are those of UTC, and a date is shown as it is, wherever the reader is. */
function localMidnight(date: string): string {
  return new Date(`${date}T00:00:00`).toISOString();
}
