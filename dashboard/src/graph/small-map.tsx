/** The whole graph in a corner, with a frame around what is on the screen. Dragging goes there. */
import { Panel, useReactFlow, useStore } from "@xyflow/react";
import { useMemo, useRef, type PointerEvent } from "react";

import { say } from "@/language/say";

import type { Box } from "./collapse";
import type { Place } from "./layout";
import { boundsOf, Shapes } from "./shapes";

interface SmallMapProps {
  boxes: readonly Box[];
  places: ReadonlyMap<string, Place>;
  path: readonly string[];
}

const ROOM = 0.04; // of the graph's size, around it

export function SmallMap({ boxes, places, path }: SmallMapProps) {
  const drawing = useRef<SVGSVGElement>(null);
  const { setCenter, getZoom } = useReactFlow();
  const [left, top, zoom] = useStore((state) => state.transform);
  const { width, height } = useStore((state) => ({ width: state.width, height: state.height }), sameSize);
  const frame = { x: -left / zoom, y: -top / zoom, width: width / zoom, height: height / zoom };
  const view = useMemo(() => {
    const whole = boundsOf(places);
    const room = Math.max(whole.width, whole.height) * ROOM;
    return `${whole.x - room} ${whole.y - room} ${whole.width + 2 * room} ${whole.height + 2 * room}`;
  }, [places]);

  function go(event: PointerEvent<SVGSVGElement>): void {
    const matrix = drawing.current?.getScreenCTM();
    if (event.buttons === 0 || !matrix) return;
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    void setCenter(x, y, { zoom: getZoom() });
  }

  return (
    <Panel position="bottom-right" className="graph-map">
      <svg
        ref={drawing}
        viewBox={view}
        role="img"
        aria-label={say("Small map of the graph")}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          go(event);
        }}
        onPointerMove={go}
      >
        <Shapes boxes={boxes} places={places} path={path} />
        <rect className="graph-map-frame" {...frame} />
      </svg>
    </Panel>
  );
}

function sameSize(a: { width: number; height: number }, b: { width: number; height: number }): boolean {
  return a.width === b.width && a.height === b.height;
}
