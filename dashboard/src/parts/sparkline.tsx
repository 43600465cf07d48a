/** Small bars of what was completed and what failed over time, beside a name. The figures are in words too. */
import { say } from "@/language/say";

import "./sparkline.css";

interface SparklineProps {
  completed: readonly number[];
  failed: readonly number[];
  over: string; // how long: "the last hour"
  columns?: number;
}

export function Sparkline({ completed, failed, over, columns = 30 }: SparklineProps) {
  const [done, lost] = [gatheredIn(completed, columns), gatheredIn(failed, columns)];
  const most = Math.max(...done.map((number, index) => number + (lost[index] ?? 0)), 1);
  const words = say("{tasks|# task|# tasks} completed and {attempts|# attempt|# attempts} failed in {over}", {
    tasks: sum(completed),
    attempts: sum(failed),
    over,
  });
  return (
    <span className="sparkline" role="img" aria-label={words} title={words}>
      {done.map((number, index) => (
        <span key={index}>
          <i className="tone-bad" style={{ height: `${((lost[index] ?? 0) / most) * 100}%` }} />
          <i className="tone-good" style={{ height: `${(number / most) * 100}%` }} />
        </span>
      ))}
    </span>
  );
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((whole, each) => whole + each, 0);
}

/** Neighbours together, so that about so many are left. */
export function gatheredIn(numbers: readonly number[], columns: number): number[] {
  const width = Math.max(Math.ceil(numbers.length / columns), 1);
  const places = Array.from({ length: Math.ceil(numbers.length / width) }, (_, index) => index * width);
  return places.map((start) => sum(numbers.slice(start, start + width)));
}
