/** A DAG drawn as a graph: live states, cost and time on every box, the critical path marked. */
import {
  Background,
  Controls,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
  useStoreApi,
  ViewportPortal,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { LocateFixed } from "lucide-react";
import {
  useCallback,
  useDeferredValue,
  useEffect,
  useEffectEvent,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type MouseEvent,
} from "react";

import { say } from "@/language/say";
import { serverNow } from "@/live/clock";

import { useMedia } from "@/parts/media";

import { COLLAPSED_FROM, collapse, FOLD, stacksOf, type Drawing } from "./collapse";
import { flowNodes, NODE_TYPES, type BoxNode } from "./drawing";
import { foldedIn } from "./fold";
import "./graph.css";
import { BOX_HEIGHT, BOX_WIDTH, type Place } from "./layout";
import { Lines } from "./lines";
import { stepFrom } from "./moving";
import { neighboursOf, type GraphEdge, type GraphTask } from "./shape";
import { boundsOf, boxAt, Shapes } from "./shapes";
import { useSight } from "./sight";
import { SmallMap } from "./small-map";
import { useLayout, type Laid } from "./use-layout";
import { useShape, type Shape } from "./use-shape";
import { inWords } from "./words";

interface Props {
  tasks: GraphTask[];
  edges: GraphEdge[];
  path: string[]; // the critical one
  current: string | null;
  onCurrent: (taskId: string | null) => void;
}

// What React Flow would say in English. Its boxes are no stops for the Tab key, so it has nothing to say of their keys.
const SAID = {
  "controls.ariaLabel": say("Zoom"),
  "controls.zoomIn.ariaLabel": say("Zoom in"),
  "controls.zoomOut.ariaLabel": say("Zoom out"),
  "controls.fitView.ariaLabel": say("Show the whole graph"),
  "node.a11yDescription.default": "",
  "node.a11yDescription.keyboardDisabled": "",
  "edge.a11yDescription.default": "",
};

const FAR = 0.5; // below this zoom text is too small to read, and not drawn
const SKETCHED_FROM = 150; // more boxes than this are mere shapes from afar: elements for them all would take seconds

export function TaskGraph(props: Props) {
  const shape = useShape(props.tasks, props.edges);
  if (shape === null) return <LayingOut />;
  return (
    <ReactFlowProvider>
      <Graph {...props} shape={shape} />
    </ReactFlowProvider>
  );
}

function LayingOut() {
  return (
    <p className="graph-empty" role="status" aria-busy>
      {say("Laying out…")}
    </p>
  );
}

function Graph({ tasks, edges, shape: { depths, folds }, path, current, onCurrent }: Props & { shape: Shape }) {
  const [isWhole, setWhole] = useState(tasks.length <= COLLAPSED_FROM);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const stacks = useMemo(() => stacksOf(tasks, depths), [tasks, depths]);
  // A task that is looked at must be seen: its stack is open.
  const looked =
    current === null ? undefined : [...stacks].find(([, alike]) => alike.some(({ id }) => id === current))?.[0];
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const drawing = useMemo(() => {
    const within = foldedIn(folds, folded);
    const isOpen = (stack: string) => isWhole || stack === looked || opened.has(stack);
    return collapse(stacks, edges, isOpen, within);
  }, [stacks, edges, isWhole, looked, opened, folds, folded]);
  const [follows, setFollows] = useState(true);
  const running = useMemo(() => runningIn(drawing), [drawing]);
  const direction = useMedia("(max-width: 48rem)") ? "down" : "right";
  const laid = useLayout(drawing, direction);
  return (
    <div className="graph">
      <div className="graph-bar">
        <Legend />
        <span className="graph-tools">
          <button
            type="button"
            className="button small"
            aria-pressed={follows}
            title={follows ? say("What runs is kept in view, until you move the graph") : say("Keep what runs in view")}
            onClick={() => setFollows(!follows)}
          >
            <LocateFixed aria-hidden /> {say("Follow")}
          </button>
          {folds.size > 0 && (
            <button
              type="button"
              className="button small"
              title={say("Draw what a task has spawned, and long chains, as one box each")}
              onClick={() => setFolded(folded.size > 0 ? new Set() : new Set(folds.keys()))}
            >
              {folded.size > 0 ? say("Unfold all") : say("Fold {size|# sub-graph|# sub-graphs}", { size: folds.size })}
            </button>
          )}
        </span>
        {tasks.length > COLLAPSED_FROM && (
          <button
            type="button"
            className="button small"
            onClick={() => {
              setWhole(!isWhole);
              setOpened(new Set());
            }}
          >
            {isWhole ? say("Stack alike tasks") : say("Draw all {tasks} tasks", { tasks: tasks.length })}
          </button>
        )}
      </div>
      {laid === null ? (
        <LayingOut />
      ) : (
        <Canvas
          {...laid}
          path={path}
          current={current}
          onCurrent={onCurrent}
          onOpen={(box) => {
            if (box.startsWith(FOLD)) setFolded(new Set([...folded].filter((root) => FOLD + root !== box)));
            else setOpened(new Set([...opened, box]));
          }}
          onFold={(taskId) => {
            if (folds.has(taskId)) setFolded(new Set([...folded, taskId]));
          }}
          running={follows ? running : null}
          onMoved={() => setFollows(false)}
        />
      )}
    </div>
  );
}

interface CanvasProps extends Laid, Pick<Props, "path" | "current" | "onCurrent"> {
  onOpen: (box: string) => void;
  onFold: (taskId: string) => void;
  running: string | null; // the box to keep in view
  onMoved: () => void; // by hand
}

function Canvas({
  drawing,
  places,
  direction,
  path,
  current,
  onCurrent,
  onOpen,
  onFold,
  running,
  onMoved,
}: CanvasProps) {
  const [focused, setFocused] = useState<string | null>(null);
  const [awaited, setAwaited] = useState<string | null>(null); // focused before the graph was fitted into its room
  const { setCenter, getZoom, zoomIn, zoomOut, screenToFlowPosition } = useReactFlow();
  const isFar = useStore((state) => state.transform[2] < FAR);
  const marked = focused ?? current;
  // The map in the corner is drawn when there is time: it would double the time of a frame.
  const mapped = useDeferredValue(useMemo(() => ({ boxes: drawing.boxes, places }), [drawing, places]));
  const { fit, isFitted, onMove } = useFitting(places, onMoved);
  useKeptInView(running, places, isFitted);
  useKeptInView(awaited, places, isFitted);
  const isInSight = useSight();
  const isSketched = drawing.boxes.length > SKETCHED_FROM && (isFar || !isFitted);
  const nodes = useMemo(
    () => (isSketched ? [] : flowNodes(drawing, places, { path, current: marked, isInSight })),
    [isSketched, drawing, places, path, marked, isInSight],
  );

  function activate(id: string): void {
    setFocused(id);
    if (drawing.boxes.some((box) => box.id === id && (box.isStack || box.isFold))) onOpen(id);
    else onCurrent(id);
  }

  function leave(): void {
    setFocused(null);
    onCurrent(null);
  }

  function clicked({ clientX: x, clientY: y }: MouseEvent): void {
    const found = isSketched ? boxAt(screenToFlowPosition({ x, y }), places) : null;
    if (found === null) leave();
    else activate(found);
  }

  function pressed(event: KeyboardEvent): void {
    if (event.target !== event.currentTarget) return; // the buttons of the map have keys of their own
    if (event.key === "Enter" && marked !== null) activate(marked);
    else if (event.key === "Escape") leave();
    else if (event.key === "+") void zoomIn();
    else if (event.key === "-") void zoomOut();
    else if (event.key === "0") fit();
    else if (event.key === "f" && marked !== null) onFold(marked);
    else move(event);
  }

  function move(event: KeyboardEvent): void {
    const next = stepFrom(marked, event.key, places, neighboursOfBoxes(drawing), direction);
    const place = next === null ? undefined : places.get(next);
    if (next === null || place === undefined) return;
    event.preventDefault();
    setFocused(next);
    setAwaited(isFitted ? null : next);
    if (!isFitted) return; // what fits the graph in would undo it
    void setCenter(place.x + BOX_WIDTH / 2, place.y + BOX_HEIGHT / 2, {
      zoom: Math.max(getZoom(), 0.7),
      duration: 150,
    });
  }

  const box = drawing.boxes.find(({ id }) => id === focused);
  return (
    // One stop for the Tab key, and arrows from there: a stop for each of a thousand boxes would lock people in.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <div
      className={isFar ? "graph-canvas far" : "graph-canvas"}
      role="application"
      aria-label={say(
        "Graph of the tasks. Arrows go from task to task, Enter opens one, f folds what is behind it, plus and minus zoom, 0 shows all.",
      )}
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      onKeyDown={pressed}
    >
      <ReactFlow<BoxNode>
        nodes={nodes}
        nodeTypes={NODE_TYPES}
        onNodeClick={(_, { id }) => activate(id)}
        onPaneClick={clicked}
        onMove={onMove}
        onlyRenderVisibleElements
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        disableKeyboardA11y
        ariaLabelConfig={SAID}
        minZoom={0.02}
        maxZoom={2}
      >
        <ViewportPortal>
          <svg className="graph-drawing" aria-hidden="true">
            <Lines drawing={drawing} places={places} path={path} direction={direction} />
            {isSketched && <Shapes boxes={drawing.boxes} places={places} path={path} />}
          </svg>
        </ViewportPortal>
        <Background gap={24} />
        <Controls showInteractive={false} onFitView={fit} />
        <SmallMap boxes={mapped.boxes} places={mapped.places} path={path} />
      </ReactFlow>
      <p className="sr-only" aria-live="polite">
        {box && inWords(box, serverNow(), path)}
      </p>
    </div>
  );
}

const MOST_ZOOM = 1.1;

/** The box of the task that began last of those that run. */
function runningIn({ boxOf, boxes }: Drawing): string | null {
  const running = boxes.flatMap(({ tasks }) => tasks.filter(({ status }) => status === "running"));
  const [last] = running.toSorted((a, b) => Date.parse(b.started_at ?? "") - Date.parse(a.started_at ?? ""));
  return last === undefined ? null : (boxOf.get(last.id) ?? null);
}

const READABLE = 0.8; // zoom

/** Moves to a box that is out of sight or too small to be read, whenever it is another one. */
function useKeptInView(box: string | null, places: ReadonlyMap<string, Place>, isFitted: boolean): void {
  const { setCenter, getZoom, getViewport } = useReactFlow();
  const { width, height } = useStoreApi().getState();
  const place = box === null ? undefined : places.get(box);
  const see = useEffectEvent(({ x, y }: Place) => {
    const { x: left, y: top, zoom } = getViewport();
    const [screenX, screenY] = [x * zoom + left, y * zoom + top];
    const isInSight =
      screenX >= 0 && screenY >= 0 && screenX + BOX_WIDTH * zoom <= width && screenY + BOX_HEIGHT * zoom <= height;
    if (isInSight && zoom >= FAR) return;
    void setCenter(x + BOX_WIDTH / 2, y + BOX_HEIGHT / 2, { zoom: Math.max(getZoom(), READABLE), duration: 300 });
  });
  useEffect(() => {
    if (isFitted && place !== undefined) see(place);
  }, [box, place, isFitted]);
}

/** Shows the whole graph when its shape or its room has changed, until somebody looks closer. */
function useFitting(places: ReadonlyMap<string, Place>, onMoved: () => void) {
  const { fitBounds, zoomTo, getZoom } = useReactFlow();
  const [fitted, setFitted] = useState<ReadonlyMap<string, Place> | null>(null);
  const movedBy = useRef<ReadonlyMap<string, Place> | null>(null); // the shape that somebody has moved around in
  const width = useStore((state) => state.width);
  const fit = useCallback(async () => {
    await fitBounds(boundsOf(places), { padding: 0.06 });
    if (getZoom() > MOST_ZOOM) await zoomTo(MOST_ZOOM);
  }, [places, fitBounds, getZoom, zoomTo]);
  useEffect(() => {
    if (width > 0 && movedBy.current !== places) void fit().then(() => setFitted(places));
  }, [places, width, fit]);
  return {
    fit: () => void fit(),
    isFitted: fitted === places,
    onMove: (event: unknown) => {
      if (event === null) return; // it was not by hand
      movedBy.current = places;
      onMoved();
    },
  };
}

function Legend() {
  return (
    <p className="graph-legend">
      <span>
        <span className="graph-key critical" /> {say("critical path")}
      </span>
      <span>
        <span className="graph-key" /> {say("needs")}
      </span>
      <span>
        <span className="graph-key spawned" /> {say("spawned")}
      </span>
    </p>
  );
}

function neighboursOfBoxes({ boxes, links }: Drawing) {
  return neighboursOf(
    boxes.map(({ id }) => id),
    links.map(({ from, to, kind }) => ({ parent: from, child: to, kind })),
  );
}
