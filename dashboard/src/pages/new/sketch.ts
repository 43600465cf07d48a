/** The levels of a graph that is being written, and what is wrong with its dependencies. */

export interface Sketched {
  name: string;
  type: string;
  after: readonly string[];
  unknown: readonly string[]; // what it names and is not there
}

interface Sketch {
  levels: readonly (readonly Sketched[])[];
  cycle: readonly Sketched[]; // what waits for itself, or for what does
}

export function sketchOf(dag: unknown): Sketch {
  const tasks = tasksOf(dag);
  const names = new Set(tasks.map(({ name }) => name));
  let rest = tasks.map((task) => ({
    ...task,
    // The id of a task that is stored is no name of this graph, and nothing that can be looked up here.
    unknown: task.after.filter((each) => !names.has(each) && !each.startsWith("task_")),
  }));
  const levels: Sketched[][] = [];
  const done = new Set<string>();
  for (;;) {
    const next = rest.filter((task) => task.after.every((each) => done.has(each) || !names.has(each)));
    if (next.length === 0) return { levels, cycle: rest };
    levels.push(next);
    next.forEach(({ name }) => done.add(name));
    rest = rest.filter((task) => !next.includes(task));
  }
}

function tasksOf(dag: unknown): Omit<Sketched, "unknown">[] {
  const tasks = (dag as { tasks?: unknown } | null)?.tasks;
  if (!Array.isArray(tasks)) return [];
  return (tasks as unknown[]).flatMap((each, index) => {
    if (typeof each !== "object" || each === null) return [];
    const { name, id, type, depends_on: after } = each as Record<string, unknown>;
    return [
      {
        name: typeof name === "string" ? name : typeof id === "string" ? id : `#${index}`,
        type: typeof type === "string" ? type : "",
        after: Array.isArray(after) ? after.filter((one): one is string => typeof one === "string") : [],
      },
    ];
  });
}
