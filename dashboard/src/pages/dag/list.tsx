/** The tasks of a DAG as a table: for those who would rather read, and for screen readers. */
import { useState } from "react";
import { Link } from "react-router";

import { nameOf } from "@/actions/subject";
import type { DagTask } from "@/api/dags";
import { Money } from "@/parts/money";
import { StatusBadge } from "@/parts/status";
import { Lasted } from "@/parts/time";

interface ListProps {
  tasks: readonly DagTask[];
  path: readonly string[];
  onCurrent: (taskId: string) => void;
}

const AT_ONCE = 200; // rows

export function List({ tasks, path, onCurrent }: ListProps) {
  const [shown, setShown] = useState(AT_ONCE);
  const critical = new Set(path);
  return (
    <div className="table-frame dag-list">
      <table className="table">
        <thead>
          <tr>
            <th>Task</th>
            <th>Type</th>
            <th>Status</th>
            <th>Agent</th>
            <th className="number">Failed</th>
            <th className="number">Took</th>
            <th className="number">Cost</th>
            <th>
              <span className="sr-only">More</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {tasks.slice(0, shown).map((task) => (
            <tr key={task.id}>
              <td>
                <Link className="row-name" to={`/tasks/${task.id}`}>
                  {nameOf(task)}
                </Link>{" "}
                {critical.has(task.id) && <span className="chip">critical path</span>}
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
                  Look<span className="sr-only"> at {nameOf(task)}</span>
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {tasks.length > shown && (
        <button type="button" className="button dag-more" onClick={() => setShown(shown + AT_ONCE)}>
          Show {Math.min(AT_ONCE, tasks.length - shown)} more of {tasks.length - shown}
        </button>
      )}
    </div>
  );
}
