/** How two texts differ, line by line (Myers' algorithm). Bounded: what differs too much is shown whole, beside the other. */

export interface DiffRow {
  kind: "same" | "changed" | "removed" | "added";
  before: string | null; // null: there is no such line
  after: string | null;
}

interface Diff {
  rows: DiffRow[];
  isExact: boolean; // false: the texts are too long or too different to say which lines are the same
  changes: number; // rows that are not the same
}

const MOST_LINES = 4_000;
const MOST_EDITS = 1_000;

export function diffOf(before: string, after: string): Diff {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const [left, right] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  const isSmall = left.length + right.length <= MOST_LINES;
  const edits = isSmall ? editsOf(left, right) : null;
  const middle = edits ?? [...left.map(removed), ...right.map(added)];
  const rows = [...a.slice(0, head).map(same), ...paired(middle), ...a.slice(a.length - tail).map(same)];
  return { rows, isExact: edits !== null, changes: rows.filter(({ kind }) => kind !== "same").length };
}

const same = (line: string): DiffRow => ({ kind: "same", before: line, after: line });
const removed = (line: string): DiffRow => ({ kind: "removed", before: line, after: null });
const added = (line: string): DiffRow => ({ kind: "added", before: null, after: line });

/** The fewest edits that make one of the other; null where there are too many to look for them. */
function editsOf(a: readonly string[], b: readonly string[]): DiffRow[] | null {
  const most = Math.min(a.length + b.length, MOST_EDITS);
  const furthest = new Map([[1, 0]]); // how far each diagonal got
  const steps: Map<number, number>[] = [];
  for (let edits = 0; edits <= most; edits++) {
    steps.push(new Map(furthest));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && (furthest.get(k - 1) ?? 0) < (furthest.get(k + 1) ?? 0));
      let x = down ? (furthest.get(k + 1) ?? 0) : (furthest.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      furthest.set(k, x);
      if (x >= a.length && x - k >= b.length) return traced(a, b, steps);
    }
  }
  return null;
}

/** Back from the end along the diagonals. */
function traced(a: readonly string[], b: readonly string[], steps: readonly Map<number, number>[]): DiffRow[] {
  const rows: DiffRow[] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = steps.length - 1; edits >= 0; edits--) {
    const before = steps[edits];
    const k = x - y;
    const at = (diagonal: number) => before?.get(diagonal) ?? 0;
    const down = k === -edits || (k !== edits && at(k - 1) < at(k + 1));
    const fromX = edits === 0 ? 0 : at(down ? k + 1 : k - 1);
    const fromY = edits === 0 ? 0 : fromX - (down ? k + 1 : k - 1);
    while (x > fromX && y > fromY) {
      rows.push(same(a[x - 1] ?? ""));
      x -= 1;
      y -= 1;
    }
    if (edits > 0) rows.push(down ? added(b[y - 1] ?? "") : removed(a[x - 1] ?? ""));
    [x, y] = [fromX, fromY];
  }
  return rows.reverse();
}

/** A line that was removed and one that was added in its place stand beside each other. */
function paired(rows: readonly DiffRow[]): DiffRow[] {
  const found: DiffRow[] = [];
  for (let index = 0; index < rows.length;) {
    const row = rows[index];
    if (row === undefined || row.kind === "same") {
      if (row) found.push(row);
      index += 1;
      continue;
    }
    const run: DiffRow[] = [];
    for (; index < rows.length && rows[index]?.kind !== "same"; index++) run.push(rows[index] as DiffRow);
    const gone = run.filter(({ kind }) => kind === "removed");
    const come = run.filter(({ kind }) => kind === "added");
    for (let place = 0; place < Math.max(gone.length, come.length); place++) {
      const [old, fresh] = [gone[place], come[place]];
      if (old && fresh) found.push({ kind: "changed", before: old.before, after: fresh.after });
      else if (old ?? fresh) found.push((old ?? fresh) as DiffRow);
    }
  }
  return found;
}

/** Any value as lines to be compared: what is equal looks equal, in whichever order its members were written. */
export function asLines(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, sorted, 2);
}

function sorted(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
