/** Where an arrow key leads in a graph. */
import type { Direction, Place } from "./layout";
import type { Neighbours } from "./shape";

type Step = "forth" | "back" | "next" | "previous";

// Along the lines, or from one to the next of the same depth.
const STEPS: Record<Direction, Record<string, Step>> = {
  right: { ArrowRight: "forth", ArrowLeft: "back", ArrowDown: "next", ArrowUp: "previous" },
  down: { ArrowDown: "forth", ArrowUp: "back", ArrowRight: "next", ArrowLeft: "previous" },
};

/** The box that this key goes to; null where it goes nowhere. */
export function stepFrom(
  box: string | null,
  key: string,
  places: ReadonlyMap<string, Place>,
  { parents, children }: Neighbours,
  direction: Direction,
): string | null {
  const step = STEPS[direction][key];
  const here = box === null ? undefined : places.get(box);
  if (key === "Home" || (step !== undefined && here === undefined)) return firstOf(places);
  if (box === null || here === undefined || step === undefined) return null;
  const [depth, rank] = direction === "right" ? (["x", "y"] as const) : (["y", "x"] as const);
  const beside = (sign: number) =>
    [...places]
      .filter(([, place]) => Math.abs(place[depth] - here[depth]) < 1 && sign * (place[rank] - here[rank]) > 0)
      .map(([id]) => id);
  switch (step) {
    case "forth":
      return nearest(children.get(box) ?? [], here, places);
    case "back":
      return nearest(parents.get(box) ?? [], here, places);
    case "next":
      return nearest(beside(1), here, places);
    case "previous":
      return nearest(beside(-1), here, places);
  }
}

function firstOf(places: ReadonlyMap<string, Place>): string | null {
  const [first] = [...places].sort(([, a], [, b]) => a.x - b.x || a.y - b.y);
  return first?.[0] ?? null;
}

function nearest(ids: string[], here: Place, places: ReadonlyMap<string, Place>): string | null {
  const distance = (id: string) => {
    const place = places.get(id);
    return place === undefined ? Infinity : Math.hypot(place.x - here.x, place.y - here.y);
  };
  const [best] = ids.toSorted((a, b) => distance(a) - distance(b));
  return best ?? null;
}
