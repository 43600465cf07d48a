/** How far an attempt says it is. Agents say it as they like: a number, words, or both. */

export interface Progress {
  fraction: number | null;
  note: string;
}

export function progressOf(progress: unknown): Progress | null {
  if (progress === null || progress === undefined) return null;
  if (typeof progress === "number") return { fraction: within(progress), note: "" };
  if (typeof progress === "string") return { fraction: null, note: progress };
  if (typeof progress !== "object") return { fraction: null, note: JSON.stringify(progress) };
  const said = progress as Record<string, unknown>;
  const note = said["note"] ?? said["message"] ?? "";
  return {
    fraction: typeof said["fraction"] === "number" ? within(said["fraction"]) : null,
    note: typeof note === "string" ? note : JSON.stringify(note),
  };
}

/** Some count to 1, some to 100. */
function within(value: number): number {
  return Math.min(Math.max(value > 1 ? value / 100 : value, 0), 1);
}

export function ProgressBar({ fraction, label }: { fraction: number; label: string }) {
  const percent = Math.round(fraction * 100);
  return (
    <span
      className="meter tone-busy"
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      title={`${percent} %`}
    >
      <span style={{ width: `${percent}%` }} />
    </span>
  );
}
