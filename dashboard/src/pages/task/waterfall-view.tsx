/** Attempts and steps over time, with what each took and cost. A step that is chosen shows its result. */
import { useQuery } from "@tanstack/react-query";
import { Cpu, Footprints, RotateCw, Wrench, type LucideIcon } from "lucide-react";
import { useMemo, useRef, useState } from "react";

import { checkpoints, steps as stepsOf, type TaskDetails } from "@/api/tasks";
import { say } from "@/language/say";
import { useNow } from "@/live/clock";
import { count, exactly, money, span } from "@/parts/format";
import { Json } from "@/parts/json";
import { Card } from "@/parts/page";
import { lookOf } from "@/parts/status";
import { useWindow } from "@/parts/window";

import { costOutside, placeIn, rowsOf, stagesOf, type Stage, type WaterfallRow } from "./waterfall";
import "./waterfall.css";

const ROW = 30; // pixels
const KINDS: Record<WaterfallRow["kind"], { word: string; icon: LucideIcon }> = {
  attempt: { word: say("attempt"), icon: RotateCw },
  call: { word: say("model call"), icon: Cpu },
  tool: { word: say("tool call"), icon: Wrench },
  step: { word: say("step"), icon: Footprints },
};

export function Waterfall({ task }: { task: TaskDetails }) {
  const { data } = useQuery(stepsOf(task.id));
  const now = useNow();
  const [chosen, setChosen] = useState<string | null>(null);
  const rows = useMemo(() => rowsOf(task, data?.steps ?? []), [task, data]);
  const frame = useRef<HTMLDivElement>(null);
  const { first, end } = useWindow(frame, rows.length, ROW, ROW);
  if (rows.length === 0) return null;
  const stages = stagesOf(rows, now);
  const outside = costOutside(rows);
  return (
    <Card
      title={say("Waterfall")}
      aside={<span className="quiet">{figures(rows)}</span>}
      twin={{ command: `taskyard show ${task.id} --steps`, path: `/api/tasks/${task.id}/steps` }}
    >
      <div
        className="waterfall"
        ref={frame}
        tabIndex={0}
        role="region"
        aria-label={say("Attempts and steps over time")}
      >
        <div className="waterfall-axis" aria-hidden>
          <span />
          <div>
            {stages.map((stage, index) => (
              <span
                key={stage.from}
                style={{ left: `${stage.left * 100}%`, width: `${(stage.right - stage.left) * 100}%` }}
                title={
                  index > 0
                    ? say("after {time} of waiting", {
                        time: span((stage.from - (stages[index - 1]?.until ?? 0)) / 1000),
                      })
                    : ""
                }
              >
                {span((stage.until - stage.from) / 1000)}
              </span>
            ))}
          </div>
          <span className="number">{say("Took")}</span>
          <span className="number">{say("Tokens")}</span>
          <span className="number">{say("Cost")}</span>
        </div>
        <ul style={{ height: rows.length * ROW }}>
          {rows.slice(first, end).map((row, index) => (
            <li key={row.key} style={{ transform: `translateY(${(first + index) * ROW}px)` }}>
              <Row
                row={row}
                stages={stages}
                now={now}
                isChosen={chosen === row.name && row.kind !== "attempt"}
                onChoose={() => setChosen(chosen === row.name ? null : row.name)}
              />
            </li>
          ))}
        </ul>
      </div>
      {chosen !== null && <Result taskId={task.id} name={chosen} />}
      {outside > 0 && data !== undefined && data.steps.length > 0 && (
        <p className="waterfall-outside quiet">
          {say("{outside} was paid outside of steps.", { outside: money(outside) })}
        </p>
      )}
    </Card>
  );
}

function figures(rows: readonly WaterfallRow[]): string {
  const number = (kinds: WaterfallRow["kind"][]) => rows.filter(({ kind }) => kinds.includes(kind)).length;
  const [attempts, calls, steps] = [number(["attempt"]), number(["call"]), number(["step", "tool", "call"])];
  const words = [
    say("{attempts|# attempt|# attempts}", { attempts }),
    steps > 0 && say("{steps|# step|# steps}", { steps }),
  ];
  return [...words, calls > 0 && say("{calls|# model call|# model calls}", { calls })].filter(Boolean).join(", ");
}

interface RowProps {
  row: WaterfallRow;
  stages: readonly Stage[];
  now: number;
  isChosen: boolean;
  onChoose: () => void;
}

function Row({ row, stages, now, isChosen, onChoose }: RowProps) {
  const { word, icon: Icon } = KINDS[row.kind];
  const content = (
    <>
      <span className="waterfall-name">
        <Icon aria-hidden />
        <span className="clip">{row.name}</span>
        {row.model !== null && row.kind !== "attempt" && <span className="chip clip">{row.model}</span>}
      </span>
      <span className="waterfall-room" aria-hidden>
        <Bar row={row} stages={stages} now={now} />
      </span>
      <span className="number">{tookOf(row, now)}</span>
      <span className="number quiet">{row.tokens === null ? "" : row.tokens.map(count).join(" + ")}</span>
      <span className="number">{row.costUsd === null || Number(row.costUsd) === 0 ? "" : money(row.costUsd)}</span>
    </>
  );
  const title = `${word} ${row.name}${row.model === null ? "" : `, ${row.model}`}${row.to === null ? "" : `\n${say("ended {time}", { time: exactly(new Date(row.to).toISOString()) })}`}`;
  if (row.kind === "attempt") {
    return (
      <div className="waterfall-row attempt" title={title}>
        {content}
      </div>
    );
  }
  return (
    <button type="button" className="waterfall-row" title={title} aria-expanded={isChosen} onClick={onChoose}>
      {content}
    </button>
  );
}

function tookOf(row: WaterfallRow, now: number): string {
  if (row.from === null) return "–";
  const until = row.to ?? (row.kind === "attempt" ? now : null);
  return until === null ? "–" : span(Math.max(until - row.from, 0) / 1000);
}

/** What is without its begin is a mere mark at its end; what is without both is not drawn. */
function Bar({ row, stages, now }: Pick<RowProps, "row" | "stages" | "now">) {
  const end = row.to ?? (row.kind === "attempt" ? now : null);
  const start = row.from ?? end;
  if (start === null || end === null) return null;
  const [left, right] = [placeIn(stages, start), placeIn(stages, end)];
  const tone = row.kind === "attempt" ? lookOf(row.status).tone : { call: "busy", tool: "sky", step: "info" }[row.kind];
  return (
    <span
      className={`waterfall-bar ${row.kind} tone-${tone}`}
      style={{ left: `${left * 100}%`, width: `${Math.max(right - left, 0) * 100}%` }}
    />
  );
}

function Result({ taskId, name }: { taskId: string; name: string }) {
  const { data } = useQuery(checkpoints(taskId));
  if (data === undefined) return null;
  return (
    <div className="card-body waterfall-result">
      <h3>{say("Result of {name}", { name })}</h3>
      <Json value={data.checkpoints[name]} label={say("the result of {name}", { name })} />
    </div>
  );
}
