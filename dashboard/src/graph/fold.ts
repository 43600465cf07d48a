/** Sub-graphs that can be drawn as one box: what a task has spawned, and long chains. Nothing here draws. */
import type { GraphEdge, Neighbours } from "./shape";

const SHORTEST_CHAIN = 4; // tasks

/** The tasks of each sub-graph, by its first task, which is one of them. */
export type Folds = ReadonlyMap<string, readonly string[]>;

export function foldsOf(edges: readonly GraphEdge[], neighbours: Neighbours): Folds {
  const folds = spawnedBy(edges);
  const spawned = new Set([...folds.values()].flat());
  for (const chain of chainsOf(neighbours)) {
    const [first] = chain;
    if (first !== undefined && !chain.some((id) => spawned.has(id))) folds.set(first, chain);
  }
  return folds;
}

/** For each task that has spawned others: itself, those, and what these have spawned. */
function spawnedBy(edges: readonly GraphEdge[]): Map<string, string[]> {
  const children = new Map<string, string[]>();
  for (const { parent, child, kind } of edges) {
    if (kind !== "depends") children.set(parent, [...(children.get(parent) ?? []), child]);
  }
  return new Map([...children.keys()].map((root) => [root, reached(root, children)]));
}

function reached(root: string, children: ReadonlyMap<string, readonly string[]>): string[] {
  const seen = new Set([root]);
  for (const id of seen) children.get(id)?.forEach((child) => seen.add(child));
  return [...seen];
}

/** Tasks of which each has nothing but the next behind it, and nothing but the one before in front of it. */
function chainsOf({ parents, children }: Neighbours): string[][] {
  const ids = [...parents.keys()];
  const only = (ids: readonly string[] | undefined) => (ids?.length === 1 ? ids[0] : undefined);
  const nextOf = (id: string) => {
    const next = only(children.get(id));
    return next !== undefined && only(parents.get(next)) === id ? next : undefined;
  };
  const followers = new Set(ids.map(nextOf));
  return ids
    .filter((id) => !followers.has(id))
    .map((id) => {
      const chain = [id];
      for (let next = nextOf(id); next !== undefined; next = nextOf(next)) chain.push(next);
      return chain;
    })
    .filter((chain) => chain.length >= SHORTEST_CHAIN);
}

/** The first task of the fold that each task is in, where that is folded. The largest fold wins. */
export function foldedIn(folds: Folds, folded: ReadonlySet<string>): Map<string, string> {
  const within = new Map<string, string>();
  const chosen = [...folds].filter(([root]) => folded.has(root)).sort(([, a], [, b]) => b.length - a.length);
  for (const [root, members] of chosen) {
    if (within.has(root)) continue;
    for (const id of members) if (!within.has(id)) within.set(id, root);
  }
  return within;
}
