/** Boxes as nothing but colour, for where they are too small to read: one shape for all that look alike. */
import { memo } from "react";

import { gathered } from "@/parts/gather";

import type { Box } from "./collapse";
import { BOX_HEIGHT, BOX_WIDTH, type Place } from "./layout";
import { loudest, toneOf } from "./words";

interface ShapesProps {
  boxes: readonly Box[];
  places: ReadonlyMap<string, Place>;
  path: readonly string[]; // the critical one
}

export const Shapes = memo(function Shapes({ boxes, places, path }: ShapesProps) {
  const critical = new Set(path);
  const byTone = gathered(boxes, (box) => toneOf(loudest(box.tasks)));
  const marked = boxes.filter((box) => box.tasks.some((task) => critical.has(task.id)));
  return (
    <g className="graph-shapes">
      {[...byTone].map(([tone, alike]) => (
        <path key={tone} className={tone} d={shapeOf(alike, places)} />
      ))}
      <path className="critical" d={shapeOf(marked, places)} />
    </g>
  );
});

function shapeOf(boxes: readonly Box[], places: ReadonlyMap<string, Place>): string {
  return boxes
    .map(({ id }) => {
      const place = places.get(id);
      return place === undefined ? "" : `M${place.x} ${place.y}h${BOX_WIDTH}v${BOX_HEIGHT}h${-BOX_WIDTH}z`;
    })
    .join("");
}

interface Bounds {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The room that all boxes take. */
export function boundsOf(places: ReadonlyMap<string, Place>): Bounds {
  const all = [...places.values()];
  const x = Math.min(...all.map((place) => place.x));
  const y = Math.min(...all.map((place) => place.y));
  const right = Math.max(...all.map((place) => place.x)) + BOX_WIDTH;
  const bottom = Math.max(...all.map((place) => place.y)) + BOX_HEIGHT;
  return { x, y, width: right - x, height: bottom - y };
}

/** The box at a point. */
export function boxAt({ x, y }: Place, places: ReadonlyMap<string, Place>): string | null {
  for (const [id, place] of places) {
    if (x >= place.x && x <= place.x + BOX_WIDTH && y >= place.y && y <= place.y + BOX_HEIGHT) return id;
  }
  return null;
}
