/** The part of a graph that is looked at. Elements for boxes outside of it would take longer than a frame to make. */
import { useStore } from "@xyflow/react";
import { useMemo } from "react";

import { BOX_HEIGHT, BOX_WIDTH, type Place } from "./layout";

interface Screen {
  transform: [left: number, top: number, zoom: number];
  width: number;
  height: number;
}

/** Whether a box at a place is on the screen or less than a screen away. It is the same function while somebody moves a little. */
export function useSight(): (place: Place) => boolean {
  const tile = useStore(tileOf);
  return useMemo(() => {
    const [column = 0, row = 0, width = 0, height = 0] = JSON.parse(tile) as number[];
    return ({ x, y }) =>
      x + BOX_WIDTH >= (column - 1) * width &&
      x <= (column + 3) * width &&
      y + BOX_HEIGHT >= (row - 1) * height &&
      y <= (row + 3) * height;
  }, [tile]);
}

/** The corner of the screen as a tile of a floor, whose tiles are at least as large as what is on the screen. */
export function tileOf({ transform: [left, top, zoom], width, height }: Screen): string {
  const size = 2 ** Math.ceil(-Math.log2(zoom));
  const [wide, high] = [Math.max(width, 1) * size, Math.max(height, 1) * size];
  return JSON.stringify([Math.floor(-left / zoom / wide), Math.floor(-top / zoom / high), wide, high]);
}
