import { fileURLToPath } from "node:url";

import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import ts from "typescript";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { german } from "./german/german";
import { literalsIn, messagesIn, sourcesOf } from "./sources";

const SOURCES = sourcesOf(fileURLToPath(new URL("..", import.meta.url)));
const SAID = SOURCES.flatMap(messagesIn);
const CATALOGUE = new Map<string, string>(Object.entries(german));

beforeEach(() => vi.resetModules());
afterEach(() => vi.unstubAllGlobals());

test("every message that is said has a translation", () => {
  const lacking = SAID.filter(({ text }) => !CATALOGUE.has(text));

  expect(lacking.map(({ where, text }) => `${where}: ${text}`)).toEqual([]);
});

test("every translation is of a message that is said", () => {
  const said = new Set(SAID.map(({ text }) => text));

  expect([...CATALOGUE.keys()].filter((message) => !said.has(message))).toEqual([]);
});

test("no message stands in two parts of the catalogue", () => {
  const parts = Object.values(import.meta.glob<Record<string, object>>("./german/*.ts", { eager: true }));
  const messages = parts
    .filter((part) => !("german" in part))
    .flatMap((part) => Object.values(part).flatMap(Object.keys));

  expect(messages.toSorted()).toEqual([...new Set(messages)].toSorted());
  expect(messages).toHaveLength(CATALOGUE.size);
});

test("a translation has the values of its message, and both forms of each number", () => {
  const wrong = [...CATALOGUE].filter(
    ([message, words]) => namesIn(message).join() !== namesIn(words).join() || !hasBothForms(message + words),
  );

  expect(wrong).toEqual([]);
});

test("no translation is empty, or has a note that only translators are to see", () => {
  expect([...CATALOGUE.values()].filter((words) => words.trim() === "" || words.includes(" // "))).toEqual([]);
});

test("no page has a text that is in no catalogue", () => {
  const found = SOURCES.flatMap(literalsIn);

  expect(found.map(({ where, text }) => `${where}: ${text}`)).toEqual([]);
});

test.each([
  ["<p>Plain text</p>", ["Plain text"]],
  ["<p>{isOpen ? 'shut it' : ''}</p>", ["shut it"]],
  ["<input placeholder='a name' className='a b' />", ["a name"]],
  ["<Row label={'Type'} command='taskyard ls --all' />", ["Type"]],
  ["tell('good', `Sent to ${name}`)", ["Sent to …"]],
  ["const LOOKS = { ready: { word: 'ready', tone: 'info' } }", ["ready"]],
  ["throw new Error('the page has no root')", []],
  ["<code>taskyard demo</code>", []],
  ["<p>{say('Plain text')}</p>", []],
])("in %s, what a reader would see in English is found", (code, texts) => {
  const source = ts.createSourceFile("page.tsx", code, ts.ScriptTarget.ES2022, true, ts.ScriptKind.TSX);

  expect(literalsIn(source).map(({ text }) => text)).toEqual(texts);
});

test("a message says its values, and its numbers in the form that fits", async () => {
  const { say } = await import("./say");

  expect(say("Cancel the task")).toBe("Cancel the task");
  expect(say("{tasks|# task|# tasks} of type {type}", { tasks: 1, type: "code" })).toBe("1 task of type code");
  expect(say("{tasks|# task|# tasks} of type {type}", { tasks: 1234, type: "{x}" })).toBe("1,234 tasks of type {x}");
});

test("a value may be an element, and the rest stays text", async () => {
  const { say } = await import("./say");
  const command = createElement("code", null, "taskyard demo");

  const said = say("Put a task in and watch it here, or let {command} show everything in a minute.", { command });

  expect(renderToStaticMarkup(said)).toBe(
    "Put a task in and watch it here, or let <code>taskyard demo</code> show everything in a minute.",
  );
});

test("what somebody else wrote is made visible also beside an element", async () => {
  const { say } = await import("./say");

  const said = say("{id} by {who}", { id: createElement("b", null, "dag_1"), who: "a\u202eb" });

  expect(renderToStaticMarkup(said)).toBe("<b>dag_1</b> by a\\u202eb");
});

test("in German, words, forms and numbers are German", async () => {
  vi.stubGlobal("navigator", { language: "de-AT", languages: ["de-AT", "en"] });
  const { say, speak } = await import("./say");
  speak(german);

  expect(say("Cancel the task")).toBe("Aufgabe abbrechen");
  expect(say("{tasks|# task|# tasks} would be moved", { tasks: 1 })).toBe("1 Aufgabe würde verschoben");
  expect(say("{tasks|# task|# tasks} would be moved", { tasks: 2000 })).toMatch(/^2.?000 Aufgaben würden verschoben$/);
  expect(say("in {time} // how long it took", { time: "3 s" })).toBe("in 3 s");
});

test("what a catalogue lacks is said in English, without the note for translators", async () => {
  const { say, speak } = await import("./say");
  speak({});

  expect(say("in {time} // how long it took", { time: "3 s" })).toBe("in 3 s");
});

/** The names of a text's values, each once. */
function namesIn(text: string): string[] {
  return [...new Set([...text.matchAll(/\{(\w+)[|}]/g)].map(([, name]) => name ?? ""))].sort();
}

function hasBothForms(text: string): boolean {
  return [...text.matchAll(/\{\w+\|([^}]*)\}/g)].every(([, forms = ""]) => forms.split("|").length === 2);
}
