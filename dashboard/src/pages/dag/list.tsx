/** The tasks of a DAG as a table: for those who would rather read, and for screen readers. */
import { useState } from "react";
import { Link } from "react-router";

import { nameOf } from "@/actions/subject";
import type { DagTask } from "@/api/dags";
import { say } from "@/language/say";
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
          {tasks.slice(0, shown).map((task) => (
            <tr key={task.id}>
              <td>
                <Link className="row-name" to={`/tasks/${task.id}`}>
                  {nameOf(task)}
                </Link>{" "}
                {critical.has(task.id) && <span className="chip">{say("critical path")}</span>}
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
          ))}
        </tbody>
      </table>
      {tasks.length > shown && (
        <button type="button" className="button dag-more" onClick={() => setShown(shown + AT_ONCE)}>
          {say("Show {some} more of {tasks}", {
            some: Math.min(AT_ONCE, tasks.length - shown),
            tasks: tasks.length - shown,
          })}
        </button>
      )}
    </div>
  );
}
