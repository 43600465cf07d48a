/** What went in and came out, beside that of another attempt or of the same task done again. */
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";

import { inputs as inputsOf, relations, task as taskOf, type TaskDetails } from "@/api/tasks";
import { say } from "@/language/say";
import { DiffView } from "@/parts/diff-view";
import { Loading } from "@/parts/empty";
import { shortId } from "@/parts/format";
import { Card } from "@/parts/page";
import { showTwin } from "@/parts/twin";

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
    ...attempts
      .toReversed()
      .map((attempt) => ({ value: `attempt:${attempt}`, label: say("Attempt {attempt}", { attempt: attempt }) })),
    ...(related?.rerun_of
      ? [{ value: related.rerun_of.id, label: say("The task it repeats, {id}", { id: shortId(related.rerun_of.id) }) }]
      : []),
    ...(related?.reruns ?? []).map(({ id }) => ({ value: id, label: say("Done again as {id}", { id: shortId(id) }) })),
  ];
  const [asked, setAsked] = useState<string | null>(null);
  const chosen = choices.find(({ value }) => value === asked) ?? choices[0];
  if (chosen === undefined) return null;
  return (
    <Card
      title={say("Compare")}
      twin={showTwin(task.id)}
      aside={
        <label className="compare-choice" htmlFor={field}>
          <span className="quiet">{say("with")}</span>
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
  const names = [say("Attempt {attempt}", { attempt: before }), say("Attempt {attempt}", { attempt: latest })] as const;
  return (
    <>
      <DiffView
        name={say("What came out")}
        before={sideOfAttempt(task, before).came}
        after={sideOfAttempt(task, latest).came}
        names={names}
      />
      <p className="quiet">
        {task.spec.version > 1
          ? say("Both were asked the same, but for what a person has changed since.")
          : say("Both were asked the same.")}
      </p>
    </>
  );
}

function OfTasks({ task, otherId }: { task: TaskDetails; otherId: string }) {
  const other = useQuery(taskOf(otherId));
  const [mine, theirs] = [useQuery(inputsOf(task.id)), useQuery(inputsOf(otherId))];
  if (other.data === undefined || mine.data === undefined || theirs.data === undefined) return <Loading rows={3} />;
  const [before, after] = [sideOfTask(other.data, theirs.data.inputs), sideOfTask(task, mine.data.inputs)];
  const names = [shortId(otherId), say("This task")] as const;
  return (
    <>
      <DiffView name={say("What was asked")} before={before.asked} after={after.asked} names={names} />
      <DiffView name={say("Inputs")} before={before.inputs} after={after.inputs} names={names} />
      <DiffView name={say("What came out")} before={before.came} after={after.came} names={names} />
    </>
  );
}
