/** A chart over time, drawn on a canvas: it follows the theme and the width it is given, and moves without being remade. */
import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import uPlot from "uplot";

import { say } from "@/language/say";
import { useTheme } from "@/shell/theme";

import { dayAndClock, dayOf, inShort, span } from "./format";
import { ZONE } from "./locale";
import type { Tone } from "./status";

import "uplot/dist/uPlot.min.css";
import "./chart.css";

export interface Series {
  name: string;
  tone: Tone | "accent";
  values: readonly (number | null)[];
}

interface ChartProps {
  label: string; // what is shown, for who cannot see it
  at: readonly string[]; // the beginning of each bucket
  series: readonly Series[];
  kind?: "line" | "area" | "bars";
  stacked?: boolean;
  unit?: (value: number) => string;
  height?: number;
  byDay?: boolean;
}

export function Chart({ label, at, series, kind = "line", stacked, unit = inShort, height = 150, byDay }: ChartProps) {
  const [hovered, setHovered] = useState<number | null>(null);
  const told = hovered !== null && hovered < at.length ? hovered : at.length - 1;
  const words = byDay ? dayOf : dayAndClock;
  return (
    <figure className="chart">
      <figcaption className="chart-legend">
        {series.map((each) => (
          <span key={each.name}>
            <i className={`tone-${each.tone}`} aria-hidden />
            {each.name} <b>{valueAt(each, told, unit)}</b>
          </span>
        ))}
        <time className="quiet">{hovered !== null && at[told] !== undefined ? words(at[told]) : ""}</time>
      </figcaption>
      <Canvas
        {...{ label, at, series, kind, unit, height }}
        stacked={stacked ?? false}
        byDay={byDay ?? false}
        onHover={setHovered}
      />
      {/* In a box of its own: a table cannot be made smaller than its rows, and would lengthen the page. */}
      <div className="sr-only">
        <table>
          <caption>{label}</caption>
          <thead>
            <tr>
              <th scope="col">{say("From")}</th>
              {series.map((each) => (
                <th key={each.name} scope="col">
                  {each.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {at.map((start, index) => (
              <tr key={start}>
                <th scope="row">{words(start)}</th>
                {series.map((each) => (
                  <td key={each.name}>{valueAt(each, index, unit)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

function valueAt(series: Series, index: number, unit: (value: number) => string): string {
  const value = series.values[index];
  return value === null || value === undefined ? "–" : unit(value);
}

interface CanvasProps extends Required<Omit<ChartProps, "series">> {
  series: readonly Series[];
  onHover: (index: number | null) => void;
}

function Canvas({ label, at, series, kind, stacked, unit, height, byDay, onHover }: CanvasProps) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [theme] = useTheme();
  const data = useMemo(() => aligned(at, series, stacked), [at, series, stacked]);
  const shape = `${theme}|${kind}|${stacked}|${byDay}|${height}|${series.map((each) => each.name + each.tone).join()}`;

  const make = useEffectEvent((room: HTMLDivElement) => {
    const options = optionsOf({ label, at, series, kind, stacked, unit, height, byDay, onHover });
    return new uPlot({ ...options, width: room.clientWidth, height }, data, room);
  });

  useEffect(() => {
    const room = frame.current;
    if (room === null) return;
    const made = make(room);
    plot.current = made;
    const watching = new ResizeObserver(() => made.setSize({ width: room.clientWidth, height }));
    watching.observe(room);
    return () => {
      watching.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, height]);

  useEffect(() => plot.current?.setData(data), [data]);

  return <div ref={frame} className="chart-canvas" role="img" aria-label={label} style={{ height }} />;
}

/** What is drawn: times in seconds, then the values, each on top of those before it where they are stacked. */
function aligned(at: readonly string[], series: readonly Series[], stacked: boolean): uPlot.AlignedData {
  const times = at.map((start) => Date.parse(start) / 1000);
  if (!stacked) return [times, ...series.map((each) => [...each.values])];
  const sums = new Array<number>(at.length).fill(0);
  return [
    times,
    ...series.map((each) => each.values.map((value, index) => (sums[index] = (sums[index] ?? 0) + (value ?? 0)))),
  ];
}

function optionsOf({
  series,
  kind,
  stacked,
  unit,
  byDay,
  onHover,
}: CanvasProps): Omit<uPlot.Options, "width" | "height"> {
  const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const font = `11px ${colour("font")}`;
  const axis: uPlot.Axis = {
    stroke: colour("ink-3"),
    font,
    grid: { stroke: colour("line"), width: 1 },
    ticks: { show: false },
  };
  const drawn = series.map((each): uPlot.Series => {
    const line = colour(each.tone);
    return {
      label: each.name,
      stroke: line,
      width: kind === "bars" ? 0 : 1.5,
      ...(kind === "line" ? {} : { fill: `${line}${kind === "bars" ? "d9" : "38"}` }),
      ...(kind === "bars" && bars !== undefined ? { paths: bars } : {}),
      points: { show: false },
      spanGaps: true,
    };
  });
  return {
    series: [{}, ...drawn],
    ...(stacked && kind === "area"
      ? { bands: series.slice(1).map((_, index) => ({ series: [index + 2, index + 1] as [number, number] })) }
      : {}),
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        space: byDay ? 36 : 64,
        values: byDay ? dayLabels : clockLabels,
        ...(byDay ? { incrs: [1, 2, 7, 14, 28].map((days) => days * DAY) } : {}),
      },
      {
        ...axis,
        size: 46,
        gap: 6,
        space: 32,
        values: (_, splits) => splits.map(unit),
        ...(unit === span ? { incrs: ROUND_SPANS } : {}),
      },
    ],
    scales: {
      x: { time: true, ...(kind === "bars" ? { range: withRoomForBars } : {}) },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] },
    },
    ...(ZONE !== undefined && !byDay && { tzDate: inZone(ZONE) }),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    padding: [6, 18, 0, 0],
    hooks: { setCursor: [(plot) => onHover(plot.cursor.idx ?? null)] },
  };
}

function inZone(zone: string): (at: number) => Date {
  return (at) => uPlot.tzDate(new Date(at * 1000), zone);
}

/** Seconds that are round numbers to people: where the axis of a chart of times has its lines. */
const ROUND_SPANS = [
  ...[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800],
  ...[3_600, 7_200, 14_400, 43_200, 86_400, 172_800, 604_800],
];

const DAY = 86_400;

/** Half a bucket at each end, or the first and the last bar would be cut. */
function withRoomForBars(plot: uPlot): [number, number] {
  const times = plot.data[0];
  const [first = 0, second = first + DAY] = times;
  const half = (second - first) / 2;
  return [first - half, (times.at(-1) ?? first) + half];
}

const bars = uPlot.paths.bars?.({ size: [0.72, 40], radius: 0.12 });

const clockLabels = [
  [86_400, "{MMM} {D}", null, null, null, null, null, null, 1],
  [60, "{HH}:{mm}", null, null, null, null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1],
] as unknown as uPlot.Axis.Values;

const dayLabels = [[86_400, "{D} {MMM}", null, null, null, null, null, null, 1]] as unknown as uPlot.Axis.Values;
