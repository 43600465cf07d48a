/** JSON to be written by hand: what may come next is suggested from the server's schema, what is wrong is said beside it. */
import { useQuery } from "@tanstack/react-query";
import { useId, useMemo, useRef, useState, type KeyboardEvent } from "react";

import { openApi } from "@/api/new-work";
import { say } from "@/language/say";

import { cursorAt, lineAt, pathIn, placeOf, type Cursor } from "./json-text";
import { faultsIn, keysAt, schemaNamed, valuesAt, type Document, type Fault, type Suggestion } from "./schema";

import "./json-editor.css";

const SHOWN = 8;

export interface Read {
  value: Record<string, unknown> | null; // null: it is no object of JSON yet
  faults: readonly Fault[];
}

interface JsonEditorProps {
  label: string;
  schema: string; // by its name among the server's
  text: string;
  onChange: (text: string) => void;
  refused?: Fault | null; // what the server said of it
  rows?: number;
}

/** The document as it stands, and what is wrong with it as far as the schema says so. */
export function useRead(text: string, schema: string): Read {
  const { data } = useQuery(openApi);
  return useMemo(() => read(text, data, schema), [text, data, schema]);
}

function read(text: string, document: Document | undefined, schema: string): Read {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { value: null, faults: [{ field: "", rule: syntaxWords(text, error) }] };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { value: null, faults: [{ field: "", rule: say("must be an object: {example}", { example: "{ … }" }) }] };
  const faults = document === undefined ? [] : faultsIn(document, schemaNamed(document, schema), value);
  return { value: value as Record<string, unknown>, faults };
}

/** Browsers name the place of a mistake in their own ways. */
function syntaxWords(text: string, error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  const place = /position (\d+)/.exec(words)?.[1];
  if (place === undefined || /\bline \d/.test(words)) return say("is no JSON yet: {words}", { words });
  const { line, column } = lineAt(text, Number(place));
  return say("is no JSON yet: {words} (line {line}, column {column})", { words, line, column });
}

export function JsonEditor({ label, schema, text, onChange, refused = null, rows = 16 }: JsonEditorProps) {
  const id = useId();
  const box = useRef<HTMLTextAreaElement>(null);
  const { data } = useQuery(openApi);
  const { faults } = useRead(text, schema);
  const [cursor, setCursor] = useState<Cursor | null>(null);
  const [chosen, setChosen] = useState(0);
  const [scrolled, setScrolled] = useState(0);
  const found = useMemo(
    () => (cursor === null || data === undefined ? [] : suggested(data, schema, cursor)),
    [cursor, data, schema],
  );
  const isOpen = found.length > 0;
  const told = [...(refused === null ? [] : [refused]), ...faults];

  function look(isAsked: boolean) {
    const area = box.current;
    if (area === null || area.selectionStart !== area.selectionEnd) {
      setCursor(null);
      return;
    }
    const here = cursorAt(area.value, area.selectionStart);
    // Unasked only where something was begun: suggestions must not cover what is read.
    const isBegun = here.isQuoted || here.prefix !== "";
    setCursor(here.expects !== "nothing" && (isAsked || isBegun) ? here : null);
    setScrolled(area.scrollTop);
    setChosen(0);
  }

  function take(suggestion: Suggestion) {
    const area = box.current;
    if (area === null || cursor === null) return;
    const end = area.selectionStart;
    // The quotation mark behind what was begun goes with it.
    const rest = cursor.isQuoted && area.value[end] === '"' ? end + 1 : end;
    const tail = cursor.expects === "key" && !/^\s*:/.test(area.value.slice(rest)) ? ": " : "";
    area.focus();
    area.setSelectionRange(cursor.from, rest);
    const inserted = suggestion.text + tail;
    const after = area.value.slice(0, cursor.from) + inserted + area.value.slice(rest);
    onChange(after);
    setCursor(null);
    const place = cursor.from + inserted.length - (/^(\{\}|\[\])$/.test(inserted) ? 1 : 0);
    // React sets the text first: the place is that of the new one.
    requestAnimationFrame(() => area.setSelectionRange(place, place));
  }

  function pressed(event: KeyboardEvent<HTMLTextAreaElement>) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      look(true);
      return;
    }
    if (!isOpen) return;
    const suggestion = found[chosen];
    const moves: Record<string, () => void> = {
      ArrowDown: () => setChosen((chosen + 1) % found.length),
      ArrowUp: () => setChosen((chosen + found.length - 1) % found.length),
      Enter: () => suggestion !== undefined && take(suggestion),
      Tab: () => suggestion !== undefined && take(suggestion),
      Escape: () => setCursor(null),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    move();
  }

  return (
    <div className="json-editor">
      <label htmlFor={id}>
        {label} <span className="hint">{say("Ctrl+Space: what may come here")}</span>
      </label>
      <div className="json-editor-frame">
        <textarea
          ref={box}
          id={id}
          className="mono"
          rows={rows}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          value={text}
          aria-invalid={told.length > 0}
          aria-describedby={`${id}-faults`}
          aria-autocomplete="list"
          aria-controls={`${id}-list`}
          aria-activedescendant={isOpen ? `${id}-${chosen}` : undefined}
          onChange={(event) => {
            onChange(event.target.value);
            look(false);
          }}
          onKeyDown={pressed}
          onBlur={() => setCursor(null)}
        />
        <ul
          id={`${id}-list`}
          role="listbox"
          aria-label={say("What may come here")}
          className="json-editor-list"
          hidden={!isOpen}
          style={isOpen && cursor !== null ? placed(text, cursor.from, scrolled) : {}}
        >
          {found.map((each, index) => (
            // By the keyboard, the text keeps the focus and takes them with Enter.
            // eslint-disable-next-line jsx-a11y/click-events-have-key-events
            <li
              key={each.text}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === chosen}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(each)}
            >
              <code>{each.text}</code> <span className="clip">{each.about}</span>
            </li>
          ))}
        </ul>
      </div>
      <ul id={`${id}-faults`} className="json-editor-faults" aria-live="polite">
        {told.slice(0, 5).map((fault) => (
          <li key={fault.field + fault.rule}>
            <button type="button" onClick={() => show(box.current, text, fault)}>
              {fault.field !== "" && <code>{fault.field}</code>} {fault.rule}
              {fault.field !== "" && <span className="hint"> {say("line {line}", { line: lineOf(text, fault) })}</span>}
            </button>
          </li>
        ))}
        {told.length > 5 && <li className="quiet">{say("and {more} more", { more: told.length - 5 })}</li>}
      </ul>
    </div>
  );
}

function suggested(document: Document, schema: string, cursor: Cursor): Suggestion[] {
  const root = schemaNamed(document, schema);
  const known = cursor.expects === "key" ? keysAt(document, root, cursor.path) : valuesAt(document, root, cursor.path);
  const begun = cursor.prefix.toLowerCase();
  const fitting = known.filter(
    ({ text }) =>
      text.replaceAll('"', "").toLowerCase().startsWith(begun) &&
      (cursor.expects === "value" || !cursor.used.includes(text.slice(1, -1))) &&
      (!cursor.isQuoted || text.startsWith('"')),
  );
  return [...new Map(fitting.map((each) => [each.text, each])).values()].slice(0, SHOWN);
}

/** Below the line that is written in. All characters are equally wide. */
function placed(text: string, at: number, scrolled: number) {
  const { line, column } = lineAt(text, at);
  return {
    insetBlockStart: `calc(0.5rem + ${line} * 1.5em - ${scrolled}px)`,
    // Not beyond the frame's end, however far to the right one writes.
    insetInlineStart: `min(0.625rem + ${column - 1}ch, max(0px, 100% - 27rem))`,
  };
}

function lineOf(text: string, fault: Fault): number {
  return lineAt(text, placeOf(text, pathIn(fault.field))).line;
}

function show(area: HTMLTextAreaElement | null, text: string, fault: Fault) {
  if (area === null) return;
  const at = placeOf(text, pathIn(fault.field));
  area.focus();
  area.setSelectionRange(at, at);
}
