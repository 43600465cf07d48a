import { useMemo } from "react";

import { sketchOf, type Sketched } from "./sketch";

/** The graph as it is being written: what can be done at the same time stands side by side. */
export function GraphSketch({ dag }: { dag: unknown }) {
  const { levels, cycle } = useMemo(() => sketchOf(dag), [dag]);
  if (levels.length === 0 && cycle.length === 0) return null;
  return (
    <section className="sketch" aria-label="The graph as it stands">
      <h3>As it stands</h3>
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
          A cycle: {cycle.map(({ name }) => name).join(", ")} wait for each other, and none could begin.
        </p>
      )}
    </section>
  );
}

function Node({ task }: { task: Sketched }) {
  return (
    <div className={`sketch-task${task.unknown.length > 0 ? " wrong" : ""}`}>
      <b className="clip">{task.name}</b> <span className="quiet clip">{task.type || "no type yet"}</span>
      {task.after.length > 0 && <span className="sketch-after clip">after {task.after.join(", ")}</span>}
      {task.unknown.length > 0 && (
        <span className="sketch-wrong">{task.unknown.join(", ")} is no task of this DAG</span>
      )}
    </div>
  );
}
