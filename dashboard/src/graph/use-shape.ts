/** The shape of a DAG, found in turns: a large one would hold up the page if it were found at once. */
import { useEffect, useState } from "react";

import { nextTurn } from "@/api/client";
import { useUnchanged } from "@/parts/unchanged";

import { foldsOf, type Folds } from "./fold";
import { depthsOf, neighboursOf, type GraphEdge, type GraphTask, type Neighbours } from "./shape";

/** What stays while the tasks move: live states come many times a minute, new tasks hardly ever. */
export interface Shape {
  depths: ReadonlyMap<string, number>;
  folds: Folds;
}

/** Null until the first is found; while another one is being found, the one before. */
export function useShape(tasks: readonly GraphTask[], edges: readonly GraphEdge[]): Shape | null {
  const ids = useUnchanged(tasks.map(({ id }) => id));
  const [shape, setShape] = useState<Shape | null>(null);
  useEffect(() => {
    let isWanted = true;
    void shapeInTurns(ids, edges).then((found) => {
      if (isWanted) setShape(found);
    });
    return () => {
      isWanted = false;
    };
  }, [ids, edges]);
  return shape;
}

async function shapeInTurns(ids: readonly string[], edges: readonly GraphEdge[]): Promise<Shape> {
  const neighbours: Neighbours = neighboursOf(ids, edges);
  await nextTurn();
  const depths = depthsOf(ids, neighbours);
  await nextTurn();
  return { depths, folds: foldsOf(edges, neighbours) };
}
