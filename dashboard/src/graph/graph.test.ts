import { expect, test } from "vitest";

import { collapse, stacksOf } from "./collapse";
import { layout } from "./layout";
import { stepFrom } from "./moving";
import { depthsOf, neighboursOf, type GraphEdge, type GraphTask } from "./shape";
import { boundsOf } from "./shapes";
import { tileOf } from "./sight";
import { extentOf, placeOf, spanOf, ticksOf } from "./timescale";

const NOON = Date.parse("2026-11-15T12:00:00Z");

function task(id: string, changes: Partial<GraphTask> = {}): GraphTask {
  return {
    id,
    title: id,
    type: "code",
    status: "ready",
    agent: null,
    attempts: 0,
    created_at: "2026-11-15T11:00:00Z",
    started_at: null,
    ended_at: null,
    cost_usd: "0",
    ...changes,
  };
}

function needs(child: string, ...parents: string[]): GraphEdge[] {
  return parents.map((parent) => ({ parent, child, kind: "depends" }));
}

/** Columns of twenty-five, each task after two of the column before. */
function wideGraph(count: number): { tasks: GraphTask[]; edges: GraphEdge[] } {
  const tasks = Array.from({ length: count }, (_, index) => task(`t${index}`, { type: index % 3 ? "code" : "review" }));
  const edges = tasks.flatMap(({ id }, index) => {
    const column = Math.floor(index / 25) - 1;
    return column < 0 ? [] : needs(id, `t${column * 25 + ((index * 7) % 25)}`, `t${column * 25 + ((index * 11) % 25)}`);
  });
  return { tasks, edges };
}

function stacked(tasks: GraphTask[], edges: GraphEdge[]): Map<string, GraphTask[]> {
  const ids = tasks.map(({ id }) => id);
  return stacksOf(tasks, depthsOf(ids, neighboursOf(ids, edges)));
}

test("a task is one deeper than the deepest of its parents", () => {
  const edges = [...needs("b", "a"), ...needs("c", "a", "b")];

  expect([...depthsOf(["c", "b", "a"], neighboursOf(["c", "b", "a"], edges))].toSorted()).toEqual([
    ["a", 0],
    ["b", 1],
    ["c", 2],
  ]);
});

test("a pair with edges of two kinds is a pair once", () => {
  const twice = [...needs("b", "a"), { parent: "a", child: "b", kind: "spawned" }];

  expect(neighboursOf(["a", "b"], twice)).toEqual({
    parents: new Map([
      ["a", []],
      ["b", ["a"]],
    ]),
    children: new Map([
      ["a", ["b"]],
      ["b", []],
    ]),
  });
});

test("alike tasks are drawn as one stack until it is opened", () => {
  const { tasks, edges } = wideGraph(100);
  const stacks = stacked(tasks, edges);

  const closed = collapse(stacks, edges, () => false);
  const open = collapse(stacks, edges, () => true);

  expect(closed.boxes).toHaveLength(8);
  expect(closed.links.reduce((sum, link) => sum + link.count, 0)).toBe(edges.length);
  expect(open.boxes).toHaveLength(100);
  expect(open.boxOf.get("t99")).toBe("t99");
});

test("two tasks that are alike are no stack", () => {
  expect(collapse(stacked([task("a"), task("b")], []), [], () => false).boxes.map((box) => box.id)).toEqual(["a", "b"]);
});

test.each([
  [100, "right"],
  [1000, "right"],
  [100, "down"],
  [1000, "down"],
] as const)("in a graph of %i tasks no box covers another, and every line goes %s", (count, direction) => {
  const { tasks, edges } = wideGraph(count);
  const links = edges.map(({ parent, child }) => ({ from: parent, to: child }));
  const depth = direction === "right" ? "x" : "y";

  const places = layout({ direction, boxes: tasks.map(({ id }) => id), links });

  expect(new Set([...places.values()].map(({ x, y }) => `${x},${y}`)).size).toBe(count);
  for (const { from, to } of links)
    expect(places.get(to)?.[depth]).toBeGreaterThan(places.get(from)?.[depth] ?? Infinity);
});

test("a fan of hundreds is laid out about as wide as it is high", () => {
  const tasks = ["start", ...Array.from({ length: 600 }, (_, index) => `t${index}`)];
  const links = tasks.slice(1).map((to) => ({ from: "start", to }));

  const { width, height } = boundsOf(layout({ direction: "right", boxes: tasks, links }));

  expect(width / height).toBeGreaterThan(0.5);
  expect(width / height).toBeLessThan(4);
});

const CROSS = new Map([
  ["root", { x: 0, y: 100 }],
  ["high", { x: 300, y: 0 }],
  ["low", { x: 300, y: 200 }],
]);

test("right and left follow the lines, up and down stay at a depth", () => {
  const around = neighboursOf([...CROSS.keys()], [...needs("high", "root"), ...needs("low", "root")]);
  const step = (from: string | null, key: string) => stepFrom(from, key, CROSS, around, "right");

  expect(step(null, "ArrowRight")).toBe("root");
  expect(step("root", "ArrowRight")).toBe("high");
  expect(step("high", "ArrowDown")).toBe("low");
  expect(step("low", "ArrowUp")).toBe("high");
  expect(step("low", "ArrowLeft")).toBe("root");
  expect(step("root", "ArrowLeft")).toBeNull();
  expect(step("low", "x")).toBeNull();
});

test("the Gantt chart's line has round numbers under it, and about as many as were asked for", () => {
  expect(ticksOf({ from: 0, until: 95_000 }, 8)).toEqual([0, 15, 30, 45, 60, 75, 90]);
  expect(placeOf(NOON, { from: NOON - 1000, until: NOON + 3000 })).toBe(0.25);
});

test("a tile of what is looked at is as large as the screen or larger, and stays while somebody moves a little", () => {
  const screen = { width: 800, height: 600 };

  expect(tileOf({ ...screen, transform: [0, 0, 0.9] })).toBe("[0,0,1600,1200]");
  expect(tileOf({ ...screen, transform: [-100, -50, 0.8] })).toBe("[0,0,1600,1200]");
  expect(tileOf({ ...screen, transform: [10, -1300, 1] })).toBe("[-1,2,800,600]");
});

test("a DAG lasts until its last task has ended, or until now while one has not", () => {
  const ended = [task("a", { ended_at: "2026-11-15T11:30:00Z" }), task("b", { ended_at: "2026-11-15T11:10:00Z" })];

  expect(spanOf(extentOf(ended), NOON).until).toBe(Date.parse("2026-11-15T11:30:00Z"));
  expect(spanOf(extentOf([...ended, task("c")]), NOON)).toEqual({
    from: Date.parse("2026-11-15T11:00:00Z"),
    until: NOON,
  });
});
