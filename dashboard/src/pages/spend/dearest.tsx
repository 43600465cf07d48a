import { Link } from "react-router";

import { nameOf } from "@/actions/subject";
import type { Report } from "@/api/spend";
import { say } from "@/language/say";
import { TaskId } from "@/parts/copy";
import { Money } from "@/parts/money";
import { Card } from "@/parts/page";
import { StatusBadge } from "@/parts/status";
import type { TwinProps } from "@/parts/twin";

/** The tasks that cost most. */
export function Dearest({ tasks, twin }: { tasks: Report["dearest"]; twin: TwinProps }) {
  return (
    <Card title={say("Dearest tasks")} twin={twin}>
      <div className="table-frame">
        <table className="table">
          <thead>
            <tr>
              <th>{say("Task")}</th>
              <th>{say("Type")}</th>
              <th>{say("Status")}</th>
              <th className="number">{say("Attempts")}</th>
              <th className="number">{say("Cost")}</th>
              <th>{say("Id")}</th>
            </tr>
          </thead>
          <tbody>
            {tasks.map((task) => (
              <tr key={task.id}>
                <td>
                  <Link className="row-name" to={`/tasks/${task.id}`}>
                    {nameOf(task)}
                  </Link>
                </td>
                <td>{task.type}</td>
                <td>
                  <StatusBadge status={task.status} word={task.state} />
                </td>
                <td className="number">{task.attempt}</td>
                <td className="number">
                  <Money usd={task.cost_usd} />
                </td>
                <td>
                  <TaskId id={task.id} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
