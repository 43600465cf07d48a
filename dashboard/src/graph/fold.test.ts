import { expect, test } from "vitest";

import { collapse, stacksOf } from "./collapse";
import { foldedIn, foldsOf } from "./fold";
import { depthsOf, neighboursOf, type GraphEdge, type GraphTask } from "./shape";

function task(id: string): GraphTask {
  return { id, title: id, type: id, status: "ready" } as unknown as GraphTask;
}

function edge(parent: string, child: string, kind = "depends"): GraphEdge {
  return { parent, child, kind };
}

const TASKS = ["plan", "a", "b", "c", "ship", "w", "x", "y", "z"].map(task);
const EDGES = [
  edge("plan", "a", "awaited"),
  edge("plan", "b", "spawned"),
  edge("b", "c", "spawned"),
  edge("plan", "ship"),
  edge("w", "x"),
  edge("x", "y"),
  edge("y", "z"),
];

const IDS = TASKS.map(({ id }) => id);

function folds(edges: readonly GraphEdge[]) {
  return foldsOf(edges, neighboursOf(IDS, edges));
}

test("what a task has spawned is a fold, with what that has spawned, and so is a long chain", () => {
  expect(Object.fromEntries(folds(EDGES))).toEqual({
    plan: ["plan", "a", "b", "c"],
    b: ["b", "c"],
    w: ["w", "x", "y", "z"],
  });
});

test("a chain ends where something else joins or leaves it", () => {
  expect(
    folds([...EDGES.slice(0, 4), edge("w", "x"), edge("x", "y"), edge("y", "z"), edge("y", "ship")]).has("w"),
  ).toBe(false);
});

test("of folds within each other the larger is drawn", () => {
  const all = folds(EDGES);

  expect(foldedIn(all, new Set(["b", "plan"])).get("c")).toBe("plan");
  expect(foldedIn(all, new Set(["b"])).get("c")).toBe("b");
});

test("a fold is one box, and lines that stay inside of it are not drawn", () => {
  const { boxes, links, boxOf } = collapse(
    stacksOf(TASKS, depthsOf(IDS, neighboursOf(IDS, EDGES))),
    EDGES,
    () => false,
    foldedIn(folds(EDGES), new Set(["plan", "w"])),
  );

  expect(boxes.map(({ id, tasks, isFold }) => [id, tasks.length, isFold])).toEqual([
    ["fold:plan", 4, true],
    ["fold:w", 4, true],
    ["ship", 1, false],
  ]);
  expect(links.map(({ from, to }) => [from, to])).toEqual([["fold:plan", "ship"]]);
  expect(boxOf.get("c")).toBe("fold:plan");
});
