/** Places for the boxes of a drawing, made in the worker; the latest drawing wins. */
import { useEffect, useMemo, useRef, useState } from "react";

import { useUnchanged } from "@/parts/unchanged";

import type { Drawing } from "./collapse";
import type { Direction, Place, Plan } from "./layout";

interface Made {
  plan: Plan;
  places: Map<string, Place>;
}

export interface Laid {
  drawing: Drawing;
  places: ReadonlyMap<string, Place>;
  direction: Direction;
}

/** The drawing with its places; the one before until they are made, and null until the first are. */
export function useLayout(drawing: Drawing, direction: Direction): Laid | null {
  const plan = usePlan(drawing, direction);
  const [made, setMade] = useState<Made | null>(null);
  const [before, setBefore] = useState(drawing);
  const worker = useRef<Worker | null>(null);
  const asked = useRef({ turn: 0, plan });

  useEffect(() => {
    const started = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    worker.current = started;
    started.addEventListener("message", ({ data }: MessageEvent<{ turn: number; places: Made["places"] }>) => {
      if (data.turn === asked.current.turn) setMade({ plan: asked.current.plan, places: data.places });
    });
    return () => started.terminate();
  }, []);

  useEffect(() => {
    asked.current = { turn: asked.current.turn + 1, plan };
    worker.current?.postMessage(asked.current);
  }, [plan]);

  const isMade = made?.plan === plan;
  if (isMade && before !== drawing) setBefore(drawing);
  return made && { drawing: isMade ? drawing : before, places: made.places, direction: made.plan.direction };
}

/** Live states change the boxes many times a minute, their shape hardly ever: only a new shape is a new plan. */
function usePlan({ boxes, links }: Drawing, direction: Direction): Plan {
  const ids = useUnchanged(boxes.map(({ id }) => id));
  const lines = useUnchanged(links, isSameLine);
  return useMemo(
    () => ({ direction, boxes: ids, links: lines.map(({ from, to }) => ({ from, to })) }),
    [direction, ids, lines],
  );
}

function isSameLine(one: Plan["links"][number], other: Plan["links"][number]): boolean {
  return one.from === other.from && one.to === other.to;
}
