import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { nameOf } from "@/actions/subject";
import { relations, type TaskDetails, type TaskRow } from "@/api/tasks";
import { say } from "@/language/say";
import { Card } from "@/parts/page";
import { StatusMark } from "@/parts/status";

const SHOWN = 12;

/** What it is connected with: what it waits for, what waits for it, what it came from. */
export function Relations({ task }: { task: TaskDetails }) {
  const { data } = useQuery(relations(task.id, task.dag_id));
  const groups: [string, readonly TaskRow[]][] = [
    [say("Spawned by"), one(data?.parent)],
    [say("Rerun of"), one(data?.rerun_of)],
    [say("Done again as"), data?.reruns ?? []],
    [say("Depends on"), data?.dependencies ?? []],
    [say("Depend on it"), data?.dependents ?? []],
    [say("It spawned"), data?.children ?? []],
  ];
  return (
    <Card
      title={say("Relations")}
      twin={{ command: `taskyard tree ${task.dag_id}`, path: `/api/tasks/${task.id}/relations` }}
    >
      <div className="card-body task-relations">
        <div>
          <h3>{say("DAG")}</h3>
          <Link className="clip" to={`/dags/${task.dag_id}`}>
            {task.dag_id}
          </Link>
        </div>
        {groups.map(([name, tasks]) => tasks.length > 0 && <Group key={name} name={name} tasks={tasks} />)}
      </div>
    </Card>
  );
}

function one(task: TaskRow | null | undefined): readonly TaskRow[] {
  return task === null || task === undefined ? [] : [task];
}

function Group({ name, tasks }: { name: string; tasks: readonly TaskRow[] }) {
  return (
    <div>
      <h3>
        {name} {tasks.length > 1 && <span className="quiet">{tasks.length}</span>}
      </h3>
      <ul>
        {tasks.slice(0, SHOWN).map((each) => (
          <li key={each.id}>
            <StatusMark status={each.status} />
            <Link className="clip" to={`/tasks/${each.id}`}>
              {nameOf(each)}
            </Link>
            <span className="quiet">{each.type}</span>
          </li>
        ))}
      </ul>
      {tasks.length > SHOWN && (
        <p className="quiet">{say("and {tasks} more: see the DAG", { tasks: tasks.length - SHOWN })}</p>
      )}
    </div>
  );
}
