/** What went in and came out, beside that of another attempt or of the same task done again. */
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";

import { inputs as inputsOf, relations, task as taskOf, type TaskDetails } from "@/api/tasks";
import { DiffView } from "@/parts/diff-view";
import { Loading } from "@/parts/empty";
import { shortId } from "@/parts/format";
import { Card } from "@/parts/page";

import { sideOfAttempt, sideOfTask } from "./compare";

interface Choice {
  value: string; // attempt:N or a task's id
  label: string;
}

export function Compare({ task }: { task: TaskDetails }) {
  const field = useId();
  const { data: related } = useQuery(relations(task.id, task.dag_id));
  const attempts = task.history.map(({ attempt }) => attempt).filter((attempt) => attempt !== latestOf(task));
  const choices: Choice[] = [
    ...attempts.toReversed().map((attempt) => ({ value: `attempt:${attempt}`, label: `Attempt ${attempt}` })),
    ...(related?.rerun_of
      ? [{ value: related.rerun_of.id, label: `The task it repeats, ${shortId(related.rerun_of.id)}` }]
      : []),
    ...(related?.reruns ?? []).map(({ id }) => ({ value: id, label: `Done again as ${shortId(id)}` })),
  ];
  const [asked, setAsked] = useState<string | null>(null);
  const chosen = choices.find(({ value }) => value === asked) ?? choices[0];
  if (chosen === undefined) return null;
  return (
    <Card
      title="Compare"
      aside={
        <label className="compare-choice" htmlFor={field}>
          <span className="quiet">with</span>
          <select id={field} value={chosen.value} onChange={(event) => setAsked(event.target.value)}>
            {choices.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
      }
    >
      <div className="card-body task-spec">
        {chosen.value.startsWith("attempt:") ? (
          <OfAttempts task={task} before={Number(chosen.value.slice("attempt:".length))} />
        ) : (
          <OfTasks key={chosen.value} task={task} otherId={chosen.value} />
        )}
      </div>
    </Card>
  );
}

function latestOf(task: TaskDetails): number {
  return task.output.attempt ?? task.attempt;
}

function OfAttempts({ task, before }: { task: TaskDetails; before: number }) {
  const latest = latestOf(task);
  const names = [`Attempt ${before}`, `Attempt ${latest}`] as const;
  return (
    <>
      <DiffView
        name="What came out"
        before={sideOfAttempt(task, before).came}
        after={sideOfAttempt(task, latest).came}
        names={names}
      />
      <p className="quiet">
        Both were asked the same{task.spec.version > 1 ? ", but for what a person has changed since" : ""}.
      </p>
    </>
  );
}

function OfTasks({ task, otherId }: { task: TaskDetails; otherId: string }) {
  const other = useQuery(taskOf(otherId));
  const [mine, theirs] = [useQuery(inputsOf(task.id)), useQuery(inputsOf(otherId))];
  if (other.data === undefined || mine.data === undefined || theirs.data === undefined) return <Loading rows={3} />;
  const [before, after] = [sideOfTask(other.data, theirs.data.inputs), sideOfTask(task, mine.data.inputs)];
  const names = [shortId(otherId), "This task"] as const;
  return (
    <>
      <DiffView name="What was asked" before={before.asked} after={after.asked} names={names} />
      <DiffView name="Inputs" before={before.inputs} after={after.inputs} names={names} />
      <DiffView name="What came out" before={before.came} after={after.came} names={names} />
    </>
  );
}
