/** The tasks of a DAG as a table: for those who would rather read, and for screen readers. */
import { memo, useMemo, useRef } from "react";
import { Link } from "react-router";

import { nameOf } from "@/actions/subject";
import type { DagTask } from "@/api/dags";
import { say } from "@/language/say";
import { Money } from "@/parts/money";
import { StatusBadge } from "@/parts/status";
import { Lasted } from "@/parts/time";
import { useWindow } from "@/parts/window";

interface ListProps {
  tasks: readonly DagTask[];
  path: readonly string[];
  onCurrent: (taskId: string) => void;
}

const ROW = 40; // pixels
const HEAD = 33;

/** Any number of tasks: only those in sight are on the page. Empty rows above and below hold the room of the others. */
export function List({ tasks, path, onCurrent }: ListProps) {
  const frame = useRef<HTMLDivElement>(null);
  const critical = useMemo(() => new Set(path), [path]);
  const { first, end } = useWindow(frame, tasks.length, ROW, HEAD);
  return (
    <div ref={frame} className="table-frame dag-list" tabIndex={0} role="region" aria-label={say("Tasks of the DAG")}>
      <table className="table" aria-rowcount={tasks.length + 1}>
        <thead>
          <tr>
            <th>{say("Task")}</th>
            <th>{say("Type")}</th>
            <th>{say("Status")}</th>
            <th>{say("Agent")}</th>
            <th className="number">{say("Failed")}</th>
            <th className="number">{say("Took")}</th>
            <th className="number">{say("Cost")}</th>
            <th>
              <span className="sr-only">{say("More")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          <Room rows={first} />
          {tasks.slice(first, end).map((task, place) => (
            <Row
              key={task.id}
              task={task}
              index={first + place}
              isCritical={critical.has(task.id)}
              onCurrent={onCurrent}
            />
          ))}
          <Room rows={tasks.length - end} />
        </tbody>
      </table>
    </div>
  );
}

/** As much room as so many rows would take. */
function Room({ rows }: { rows: number }) {
  return rows > 0 && <tr className="dag-list-room" aria-hidden style={{ height: rows * ROW }} />;
}

interface RowProps {
  task: DagTask;
  index: number;
  isCritical: boolean;
  onCurrent: (taskId: string) => void;
}

const Row = memo(function Row({ task, index, isCritical, onCurrent }: RowProps) {
  return (
    <tr aria-rowindex={index + 2} style={{ height: ROW }}>
      <td>
        <Link className="row-name" to={`/tasks/${task.id}`}>
          {nameOf(task)}
        </Link>{" "}
        {isCritical && <span className="chip">{say("critical path")}</span>}
      </td>
      <td>{task.type}</td>
      <td>
        <StatusBadge status={task.status} word={task.state} />
      </td>
      <td>{task.agent ?? <span className="quiet">—</span>}</td>
      <td className="number">{task.attempts}</td>
      <td className="number">
        <Lasted from={task.started_at} to={task.ended_at} />
      </td>
      <td className="number">
        <Money usd={task.cost_usd} />
      </td>
      <td>
        <button type="button" className="button small" onClick={() => onCurrent(task.id)}>
          <span aria-hidden>{say("Look")}</span>
          <span className="sr-only">{say("Look at {task}", { task: nameOf(task) })}</span>
        </button>
      </td>
    </tr>
  );
});
