/** The tasks of a DAG as bars over time, in the order they began. */
import { useMemo, useRef, useState } from "react";

import { nameOf } from "@/actions/subject";
import { say } from "@/language/say";
import { useNow } from "@/live/clock";
import { span } from "@/parts/format";
import { lookOf } from "@/parts/status";
import { useWindow } from "@/parts/window";

import "./graph.css";
import { secondsOf, type GraphTask } from "./shape";
import { extentOf, placeOf, spanOf, ticksOf, type Span } from "./timescale";
import { standing, toneOf } from "./words";

interface Props {
  tasks: GraphTask[];
  path: string[];
  current: string | null;
  onCurrent: (taskId: string) => void;
}

const ROW = 28; // pixels
const ZOOMS = [1, 2, 4, 8, 16];
const TICKS = 8; // on a screen's width

export function Gantt({ tasks, path, current, onCurrent }: Props) {
  const [zoom, setZoom] = useState(1);
  const now = useNow();
  const frame = useRef<HTMLDivElement>(null);
  const ordered = useMemo(() => tasks.toSorted((a, b) => begin(a) - begin(b) || a.id.localeCompare(b.id)), [tasks]);
  const critical = useMemo(() => new Set(path), [path]);
  const { first, end } = useWindow(frame, ordered.length, ROW, ROW);
  const extent = useMemo(() => extentOf(tasks), [tasks]);
  const whole = spanOf(extent, now);
  return (
    <div className="graph">
      <div className="graph-bar">
        <p className="graph-legend">
          <span>
            <span className="graph-key" /> {say("waits")}
          </span>
          <span>
            <span className="graph-key bar" /> {say("works, latest attempt")}
          </span>
          <span>
            <span className="graph-key critical" /> {say("critical path")}
          </span>
        </p>
        <div className="segments" role="group" aria-label={say("Zoom")}>
          {ZOOMS.map((each) => (
            <button key={each} type="button" aria-pressed={zoom === each} onClick={() => setZoom(each)}>
              {each}×
            </button>
          ))}
        </div>
      </div>
      <div className="gantt" ref={frame} tabIndex={0} role="region" aria-label={say("Tasks over time")}>
        <div className="gantt-sheet" style={{ width: `${zoom * 100}%` }}>
          <Axis whole={whole} ticks={TICKS * zoom} />
          <ul className="gantt-rows" style={{ height: ordered.length * ROW }}>
            {ordered.slice(first, end).map((task, index) => (
              <li key={task.id} style={{ transform: `translateY(${(first + index) * ROW}px)` }}>
                <Row
                  task={task}
                  whole={whole}
                  now={now}
                  isCritical={critical.has(task.id)}
                  isCurrent={task.id === current}
                  onCurrent={onCurrent}
                />
              </li>
            ))}
          </ul>
        </div>
      </div>
    </div>
  );
}

function Axis({ whole, ticks }: { whole: Span; ticks: number }) {
  return (
    <div className="gantt-axis" aria-hidden="true">
      <span className="gantt-label" />
      <span className="gantt-track">
        {ticksOf(whole, ticks).map((seconds) => (
          <span
            key={seconds}
            className="gantt-tick"
            style={{ left: percent(placeOf(whole.from + seconds * 1000, whole)) }}
          >
            {seconds === 0 ? say("start") : `+${span(seconds)}`}
          </span>
        ))}
      </span>
    </div>
  );
}

interface RowProps {
  task: GraphTask;
  whole: Span;
  now: number;
  isCritical: boolean;
  isCurrent: boolean;
  onCurrent: (taskId: string) => void;
}

function Row({ task, whole, now, isCritical, isCurrent, onCurrent }: RowProps) {
  const Icon = lookOf(task.status).icon;
  const seconds = secondsOf(task, now);
  const end = task.ended_at === null ? now : Date.parse(task.ended_at);
  const start = task.started_at === null ? end : Date.parse(task.started_at);
  const created = Date.parse(task.created_at);
  const look = ["gantt-row", toneOf(task.status), isCritical && "critical", isCurrent && "current"];
  return (
    <button type="button" className={look.filter(Boolean).join(" ")} onClick={() => onCurrent(task.id)}>
      <span className="gantt-label">
        <Icon aria-hidden />
        <span className="clip">{nameOf(task)}</span>
        <span className="sr-only">{standing(task, now, isCritical)}</span>
      </span>
      <span className="gantt-track">
        <Bar from={created} until={start} whole={whole} look="gantt-bar waiting" />
        {seconds !== null && <Bar from={start} until={end} whole={whole} look="gantt-bar" />}
        {seconds !== null && <Took seconds={seconds} end={placeOf(end, whole)} start={placeOf(start, whole)} />}
      </span>
    </button>
  );
}

function Bar({ from, until, whole, look }: { from: number; until: number; whole: Span; look: string }) {
  const left = placeOf(from, whole);
  return <span className={look} style={{ left: percent(left), width: percent(placeOf(until, whole) - left) }} />;
}

/** How long it took, beside the bar: after it, or before it where it ends at the edge. */
function Took({ seconds, start, end }: { seconds: number; start: number; end: number }) {
  return (
    <span className="gantt-took" aria-hidden style={end < 0.9 ? { left: percent(end) } : { right: percent(1 - start) }}>
      {span(seconds)}
    </span>
  );
}

function begin(task: GraphTask): number {
  return Date.parse(task.started_at ?? task.created_at) + (task.started_at === null ? NEVER_BEGAN : 0);
}

const NEVER_BEGAN = 1e15; // milliseconds: after everything that did

function percent(share: number): string {
  return `${(share * 100).toFixed(3)}%`;
}
