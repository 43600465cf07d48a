/** The lines between the boxes. All that look alike are one shape: thousands cost no more to draw than a few. */
import { memo } from "react";

import { gathered } from "@/parts/gather";

import type { Drawing, Link } from "./collapse";
import { BOX_HEIGHT, BOX_WIDTH, type Direction, type Place } from "./layout";

interface LinesProps {
  drawing: Drawing;
  places: ReadonlyMap<string, Place>;
  path: readonly string[]; // the critical one
  direction: Direction;
}

const ARROW = 6; // pixels
const WING = 4;
const SLIGHTEST = 24; // bend
const MANY = 300; // lines are fainter beyond, or they would cover each other

export const Lines = memo(function Lines({ drawing: { links, boxOf }, places, path, direction }: LinesProps) {
  const followers = gathered(
    path.slice(1).map((id, index) => ({ from: boxOf.get(path[index] ?? ""), to: boxOf.get(id) })),
    ({ from }) => from ?? "",
  );
  const isCritical = ({ from, to }: Link) => followers.get(from)?.some((step) => step.to === to) ?? false;
  const alike = gathered(links, (link) => (isCritical(link) ? "critical" : link.kind === "depends" ? "" : "spawned"));
  return (
    <g className={links.length > MANY ? "graph-lines many" : "graph-lines"}>
      {["", "spawned", "critical"].map((look) => (
        <path
          key={look}
          className={look}
          d={(alike.get(look) ?? []).map((link) => curve(link, places, direction)).join("")}
        />
      ))}
    </g>
  );
});

/** From the edge of one box to the edge of the other, with a small arrow at its end. */
function curve({ from, to }: Link, places: ReadonlyMap<string, Place>, direction: Direction): string {
  const start = places.get(from);
  const end = places.get(to);
  if (start === undefined || end === undefined) return "";
  return direction === "right" ? toTheRight(start, end) : down(start, end);
}

function toTheRight(start: Place, end: Place): string {
  const [x1, y1] = [start.x + BOX_WIDTH, start.y + BOX_HEIGHT / 2];
  const [x2, y2] = [end.x, end.y + BOX_HEIGHT / 2];
  const bend = Math.max(SLIGHTEST, (x2 - x1) / 2);
  return (
    `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` +
    `M${x2 - ARROW} ${y2 - WING}L${x2} ${y2}L${x2 - ARROW} ${y2 + WING}`
  );
}

function down(start: Place, end: Place): string {
  const [x1, y1] = [start.x + BOX_WIDTH / 2, start.y + BOX_HEIGHT];
  const [x2, y2] = [end.x + BOX_WIDTH / 2, end.y];
  const bend = Math.max(SLIGHTEST, (y2 - y1) / 2);
  return (
    `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}` +
    `M${x2 - WING} ${y2 - ARROW}L${x2} ${y2}L${x2 + WING} ${y2 - ARROW}`
  );
}
