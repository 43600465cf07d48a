/** Two values beside each other, with the lines marked in which they differ. */
import { useMemo, useState } from "react";

import { say } from "@/language/say";

import { asLines, diffOf, type DiffRow } from "./diff";

import "./diff.css";

const AROUND = 3; // lines of what is the same that are shown around a change
const SHOWN = 600; // rows at once

interface DiffProps {
  name: string; // what is compared
  before: unknown;
  after: unknown;
  names: readonly [string, string]; // of the two sides
}

export function DiffView({ name, before, after, names }: DiffProps) {
  const [whole, setWhole] = useState(false);
  const diff = useMemo(() => diffOf(asLines(before), asLines(after)), [before, after]);
  const rows = useMemo(() => (whole ? diff.rows : nearChanges(diff.rows)), [whole, diff]);
  if (diff.changes === 0) {
    return (
      <p className="diff-same quiet">
        {say("{name}: the same in both, {lines|# line|# lines}.", { name, lines: diff.rows.length })}
      </p>
    );
  }
  return (
    <figure className="diff">
      <figcaption>
        <b>{name}</b>{" "}
        <span className="quiet">
          {diff.isExact
            ? say("{changes|# changed line|# changed lines}", { changes: diff.changes })
            : say("too different to be compared line by line")}
        </span>
      </figcaption>
      <div
        className="diff-frame"
        tabIndex={0}
        role="region"
        aria-label={say("{name}: {before} and {after}", { name, before: names[0], after: names[1] })}
      >
        <table>
          <thead>
            <tr>
              <th scope="col">{names[0]}</th>
              <th scope="col">{names[1]}</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, SHOWN).map((row, index) => (
              <Line key={index} row={row} />
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > SHOWN && <p className="quiet">{say("The first {lines} lines are shown.", { lines: SHOWN })}</p>}
      {rows.length < diff.rows.length && (
        <button type="button" className="button small" onClick={() => setWhole(true)}>
          {say("Show all {lines} lines", { lines: diff.rows.length })}
        </button>
      )}
    </figure>
  );
}

type Gap = { kind: "gap"; lines: number };

function Line({ row }: { row: DiffRow | Gap }) {
  if (row.kind === "gap") {
    return (
      <tr className="diff-gap">
        <td colSpan={2}>{say("{lines|# equal line|# equal lines}", { lines: row.lines })}</td>
      </tr>
    );
  }
  return (
    <tr className={`diff-${row.kind}`}>
      <Side text={row.before} mark="−" word="was" isMarked={row.kind === "removed" || row.kind === "changed"} />
      <Side text={row.after} mark="+" word="is" isMarked={row.kind === "added" || row.kind === "changed"} />
    </tr>
  );
}

function Side({ text, mark, word, isMarked }: { text: string | null; mark: string; word: string; isMarked: boolean }) {
  if (text === null) return <td className="diff-none" />;
  return (
    <td>
      {isMarked && (
        <>
          <i aria-hidden>{mark}</i>
          <span className="sr-only">{word} </span>
        </>
      )}
      <code dir="auto">{text}</code>
    </td>
  );
}

/** Changes with a little around them; what is equal beyond that is one line. */
function nearChanges(rows: readonly DiffRow[]): (DiffRow | Gap)[] {
  const near = new Set<number>();
  rows.forEach(({ kind }, index) => {
    if (kind === "same") return;
    for (let each = index - AROUND; each <= index + AROUND; each++) near.add(each);
  });
  const found: (DiffRow | Gap)[] = [];
  rows.forEach((row, index) => {
    const last = found.at(-1);
    if (near.has(index)) found.push(row);
    else if (last?.kind === "gap") last.lines += 1;
    else found.push({ kind: "gap", lines: 1 });
  });
  return found;
}
