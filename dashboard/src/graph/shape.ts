/** A DAG as the graph and the Gantt see it, and the plain questions asked of its shape. Nothing here draws. */

export interface GraphTask {
  id: string;
  title: string;
  type: string;
  status: string;
  agent: string | null;
  attempts: number;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  cost_usd: string;
}

export interface GraphEdge {
  parent: string;
  child: string;
  kind: string; // depends, spawned or awaited
}

export interface Neighbours {
  parents: Map<string, string[]>;
  children: Map<string, string[]>;
}

/** Who comes before and after each task. Edges to tasks that are not in the graph are left out. */
export function neighboursOf(ids: readonly string[], edges: readonly GraphEdge[]): Neighbours {
  const parents = new Map(ids.map((id) => [id, [] as string[]]));
  const children = new Map(ids.map((id) => [id, [] as string[]]));
  for (const { parent, child } of edges) {
    const above = parents.get(child);
    const below = children.get(parent);
    if (above && below) {
      above.push(parent);
      below.push(child);
    }
  }
  // A pair may have edges of two kinds. A task may have ten thousand children: no list is searched.
  for (const lists of [parents, children])
    for (const [id, list] of lists) if (list.length > 1) lists.set(id, [...new Set(list)]);
  return { parents, children };
}

/** The tasks so that each comes after all its parents. */
export function inOrder(ids: readonly string[], { parents, children }: Neighbours): string[] {
  const waitsFor = new Map(ids.map((id) => [id, parents.get(id)?.length ?? 0]));
  const ordered = ids.filter((id) => waitsFor.get(id) === 0);
  for (const id of ordered) {
    for (const child of children.get(id) ?? []) {
      const left = (waitsFor.get(child) ?? 0) - 1;
      waitsFor.set(child, left);
      if (left === 0) ordered.push(child);
    }
  }
  return ordered;
}

/** For each task, how many tasks the longest chain above it has. */
export function depthsOf(ids: readonly string[], neighbours: Neighbours): Map<string, number> {
  const depths = new Map<string, number>();
  for (const id of inOrder(ids, neighbours)) {
    const above = (neighbours.parents.get(id) ?? []).map((parent) => depths.get(parent) ?? 0);
    depths.set(id, above.length === 0 ? 0 : Math.max(...above) + 1);
  }
  return depths;
}

/** How long a task was or has been at work, in seconds; null where it never began. */
export function secondsOf(task: GraphTask, now: number): number | null {
  if (task.started_at === null) return null;
  const end = task.ended_at === null ? now : Date.parse(task.ended_at);
  return Math.max(0, (end - Date.parse(task.started_at)) / 1000);
}
