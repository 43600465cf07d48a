/** The boxes of a graph, in the form that React Flow draws. */
import type { Node, NodeProps } from "@xyflow/react";
import { FoldVertical } from "lucide-react";
import { memo, type ReactNode } from "react";

import { nameOf } from "@/actions/subject";
import { say } from "@/language/say";
import { cents } from "@/parts/format";
import { lookOf } from "@/parts/status";
import { Lasted } from "@/parts/time";

import type { Box, Drawing } from "./collapse";
import { BOX_HEIGHT, BOX_WIDTH, type Place } from "./layout";
import { costOf, countsOf, loudest, toneOf } from "./words";

interface BoxData extends Record<string, unknown> {
  box: Box;
  look: string; // its classes
}

export type BoxNode = Node<BoxData>;

interface Marks {
  path: readonly string[];
  current: string | null;
  isInSight: (place: Place) => boolean;
}

// What is given need not be measured: without it, every box would be drawn once, also those that are not in sight.
const SIZE = { width: BOX_WIDTH, height: BOX_HEIGHT };
const KNOWN = { ...SIZE, measured: SIZE, handles: [] };

export function flowNodes(drawing: Drawing, places: ReadonlyMap<string, Place>, marks: Marks): BoxNode[] {
  const { path, current, isInSight } = marks;
  const critical = new Set(path);
  return drawing.boxes.flatMap((box) => {
    const position = places.get(box.id);
    if (position === undefined || !isInSight(position)) return [];
    const look = [
      toneOf(loudest(box.tasks)),
      box.tasks.some((task) => critical.has(task.id)) && "critical",
      box.id === current && "current",
    ];
    const data = { box, look: look.filter(Boolean).join(" ") };
    const type = box.isStack ? "stack" : box.isFold ? "fold" : "task";
    return [{ id: box.id, type, position, data, ...KNOWN }];
  });
}

const TaskBox = memo(function TaskBox({ data: { box, look } }: NodeProps<BoxNode>) {
  const [task] = box.tasks;
  if (task === undefined) return null;
  const Icon = lookOf(task.status).icon;
  return (
    <div className={`graph-box ${look}`} data-task={task.id} title={nameOf(task)}>
      <span className="graph-title">
        <Icon aria-hidden />
        <span className="clip">{nameOf(task)}</span>
      </span>
      <span className="graph-facts">
        {task.started_at === null ? (
          <span>{lookOf(task.status).word}</span>
        ) : (
          <Lasted from={task.started_at} to={task.ended_at} />
        )}
        {task.attempts > 0 && (
          <span className="graph-failed">{say("{attempts}× failed", { attempts: task.attempts })}</span>
        )}
        {Number(task.cost_usd) > 0 && <span className="graph-cost">{cents(task.cost_usd)}</span>}
      </span>
    </div>
  );
});

const StackBox = memo(function StackBox({ data: { box, look } }: NodeProps<BoxNode>) {
  return (
    <Several box={box} look={look} title={say("Open this stack")}>
      <span className="clip">{box.tasks[0]?.type}</span>
      <span className="graph-count">× {box.tasks.length}</span>
    </Several>
  );
});

const FoldBox = memo(function FoldBox({ data: { box, look } }: NodeProps<BoxNode>) {
  const [first] = box.tasks;
  return (
    <Several box={box} look={look} title={say("Unfold this sub-graph")}>
      <FoldVertical aria-hidden />
      <span className="clip">{first === undefined ? "" : nameOf(first)}</span>
      <span className="graph-count">+ {box.tasks.length - 1}</span>
    </Several>
  );
});

interface SeveralProps {
  box: Box;
  look: string;
  title: string;
  children: ReactNode; // its name
}

function Several({ box, look, title, children }: SeveralProps) {
  const counts = countsOf(box.tasks);
  const cost = costOf(box.tasks);
  return (
    <div className={`graph-box stack ${look}`} data-stack={box.id} title={title}>
      <span className="graph-title">{children}</span>
      <span className="graph-shares">
        {counts.map(([status, count]) => (
          <span key={status} className={toneOf(status)} style={{ flexGrow: count }} />
        ))}
      </span>
      <span className="graph-facts">
        {counts.slice(0, 2).map(([status, count]) => (
          <span key={status}>
            {count} {lookOf(status).word}
          </span>
        ))}
        {cost > 0 && <span className="graph-cost">{cents(cost)}</span>}
      </span>
    </div>
  );
}

export const NODE_TYPES = { task: TaskBox, stack: StackBox, fold: FoldBox };
