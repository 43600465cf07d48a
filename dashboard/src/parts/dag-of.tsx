import { say } from "@/language/say";

import { Id } from "./copy";

/** The DAG that a task belongs to. Of a task that was put in alone there is nothing to say: it is its own. */
export function DagOf({ task }: { task: { id: string; dag_id: string } }) {
  if (bare(task.dag_id) === bare(task.id)) return null;
  return <span>{say("of {id}", { id: <Id id={task.dag_id} to={`/dags/${task.dag_id}`} /> })}</span>;
}

function bare(id: string): string {
  return id.slice(id.indexOf("_") + 1);
}
