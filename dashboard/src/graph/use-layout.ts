/** Places for boxes, made in the worker; the latest plan wins. */
import { useEffect, useRef, useState } from "react";

import type { Place, Plan } from "./layout";

interface Answer {
  turn: number;
  places: Map<string, Place>;
}

/** Null until the first layout is there. While a new one is being made, the old one is answered. */
export function useLayout(plan: Plan): Map<string, Place> | null {
  const [places, setPlaces] = useState<Map<string, Place> | null>(null);
  const worker = useRef<Worker | null>(null);
  const turn = useRef(0);

  useEffect(() => {
    const started = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    worker.current = started;
    started.addEventListener("message", ({ data }: MessageEvent<Answer>) => {
      if (data.turn === turn.current) setPlaces(data.places);
    });
    return () => started.terminate();
  }, []);

  // Live states change the boxes many times a minute, their shape hardly ever: only a new shape is laid out.
  const shape = JSON.stringify(plan);
  useEffect(() => {
    turn.current += 1;
    worker.current?.postMessage({ turn: turn.current, plan: JSON.parse(shape) as Plan });
  }, [shape]);
  return places;
}
