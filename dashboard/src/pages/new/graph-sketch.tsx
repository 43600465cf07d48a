import { useMemo } from "react";

import { say } from "@/language/say";

import { sketchOf, type Sketched } from "./sketch";

/** The graph as it is being written: what can be done at the same time stands side by side. */
export function GraphSketch({ dag }: { dag: unknown }) {
  const { levels, cycle } = useMemo(() => sketchOf(dag), [dag]);
  if (levels.length === 0 && cycle.length === 0) return null;
  return (
    <section className="sketch" aria-label={say("The graph as it stands")}>
      <h3>{say("As it stands")}</h3>
      <ol>
        {levels.map((level, index) => (
          <li key={index}>
            {level.map((task) => (
              <Node key={task.name} task={task} />
            ))}
          </li>
        ))}
      </ol>
      {cycle.length > 0 && (
        <p className="note tone-bad" role="alert">
          {say("A cycle: {tasks} wait for each other, and none could begin.", {
            tasks: cycle.map(({ name }) => name).join(", "),
          })}
        </p>
      )}
    </section>
  );
}

function Node({ task }: { task: Sketched }) {
  return (
    <div className={`sketch-task${task.unknown.length > 0 ? " wrong" : ""}`}>
      <b className="clip">{task.name}</b> <span className="quiet clip">{task.type || say("no type yet")}</span>
      {task.after.length > 0 && (
        <span className="sketch-after clip">{say("after {tasks}", { tasks: task.after.join(", ") })}</span>
      )}
      {task.unknown.length > 0 && (
        <span className="sketch-wrong">
          {say("{names} is no task of this DAG", { names: task.unknown.join(", ") })}
        </span>
      )}
    </div>
  );
}
