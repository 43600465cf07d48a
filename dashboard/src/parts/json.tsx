/** Anything an agent or a caller wrote, as text: laid out, cut where it is very long, and to be copied whole. */
import { useState } from "react";

import { say } from "@/language/say";

import { CopyButton } from "./copy";

const SHOWN = 20_000; // characters: more at once would make the page slow

export function Verbatim({ text, label }: { text: string; label: string }) {
  const [whole, setWhole] = useState(false);
  const isCut = !whole && text.length > SHOWN;
  return (
    <div className="verbatim-frame">
      <CopyButton text={text} label={say("Copy {label}", { label })} />
      <pre className="verbatim" dir="auto" tabIndex={0} role="region" aria-label={label}>
        {isCut ? text.slice(0, SHOWN) : text}
      </pre>
      {isCut && (
        <button type="button" className="button small" onClick={() => setWhole(true)}>
          {say("Show all {characters} characters", { characters: text.length })}
        </button>
      )}
    </div>
  );
}

export function Json({ value, label }: { value: unknown; label: string }) {
  return <Verbatim text={typeof value === "string" ? value : JSON.stringify(value, null, 2)} label={label} />;
}

export function isBlank(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
