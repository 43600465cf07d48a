/** A JSON Schema as the fields of a form, and what is typed into them as the answer. */

import { say } from "@/language/say";

export type Schema = Record<string, unknown>;
export type Problems = Record<string, string>; // by the path of the field: "address/street"

type FieldKind = "text" | "long" | "choice" | "number" | "boolean" | "file" | "object" | "list" | "json";

export interface Choice {
  value: unknown;
  title: string;
}

const LONG = 200; // characters from which on a text has several lines
const FILES = new Set(["binary", "artifact", "data-url"]);

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** How a value of this schema is asked for. What no field can hold is asked for as JSON. */
export function kindOf(schema: unknown): FieldKind {
  if (!isSchema(schema)) return "json";
  if (choicesOf(schema) !== null) return "choice";
  switch (schema.type) {
    case "string":
      if (FILES.has(String(schema.format)) || schema.contentMediaType !== undefined) return "file";
      if (inputType(schema) !== "text") return "text"; // an address may be long, and has one line
      return Number(schema.maxLength ?? 0) > LONG || schema.format === "textarea" ? "long" : "text";
    case "number":
    case "integer":
      return "number";
    case "boolean":
      return "boolean";
    case "object":
      return isSchema(schema.properties) ? "object" : "json";
    case "array":
      return isSchema(schema.items) ? "list" : "json";
    default:
      return "json";
  }
}

/** The kind of input that helps with a text of this format, and gives it as the format has it. */
export function inputType(schema: Schema): "text" | "date" | "email" | "url" {
  switch (schema.format) {
    case "date":
    case "email":
      return schema.format;
    case "uri":
      return "url";
    default:
      return "text";
  }
}

const PLAIN = new Set<unknown>(["string", "number", "integer", "boolean", "null"]);

/** Whether a value that is asked for as JSON is one of several plain ones, such as a number or a text. */
export function isShort(schema: Schema): boolean {
  const options = Array.isArray(schema.anyOf) ? schema.anyOf.map((each) => isSchema(each) && each.type) : schema.type;
  return Array.isArray(options) && options.every((each) => PLAIN.has(each));
}

/** What fits a value that is asked for as JSON, where its schema says so; its title and its hint stand beside it. */
export function wantedOf(schema: Schema): Schema | null {
  const wanted = Object.entries(schema).filter(([name]) => !["title", "description", "default"].includes(name));
  return wanted.some(([name, each]) => name !== "type" || Array.isArray(each)) ? Object.fromEntries(wanted) : null;
}

/** How a text of a format is written, which no input helps with. */
export function formatHint(schema: Schema): string | undefined {
  switch (schema.format) {
    case "date-time":
      return say("With its zone, such as {example}", { example: "2026-03-01T09:30:00Z" });
    case "time":
      return say("With its zone, such as {example}", { example: "09:30:00Z" });
    case "duration":
      return say("Such as {example}", { example: "PT90M" });
    default:
      return undefined;
  }
}

export function choicesOf(schema: Schema): Choice[] | null {
  if (Array.isArray(schema.enum)) return schema.enum.map((value: unknown) => ({ value, title: shown(value) }));
  const options: unknown[] = Array.isArray(schema.oneOf) ? schema.oneOf : [];
  const named = options.filter((each): each is Schema => isSchema(each) && "const" in each);
  if (named.length === 0 || named.length < options.length) return null;
  return named.map((each) => ({
    value: each.const,
    title: typeof each.title === "string" ? each.title : shown(each.const),
  }));
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function propertiesOf(schema: Schema): [string, Schema, boolean][] {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const properties = isSchema(schema.properties) ? schema.properties : {};
  return Object.entries(properties).map(([name, each]) => [name, isSchema(each) ? each : {}, required.has(name)]);
}

/** The fields of a question that says nothing of its answer have titles of ours. */
const OURS: Record<string, () => string> = { "Approve?": () => say("Approve?"), Comment: () => say("Comment") };

export function titleOf(schema: Schema, name: string): string {
  if (typeof schema.title === "string" && Object.hasOwn(OURS, schema.title)) return OURS[schema.title]?.() ?? "";
  return typeof schema.title === "string" && schema.title !== "" ? schema.title : wordsFor(name);
}

function wordsFor(name: string): string {
  const words = name.replaceAll(/[_-]+/g, " ").trim();
  return words === "" ? say("Answer") : words.charAt(0).toUpperCase() + words.slice(1);
}

/** What a form begins with. A field that nobody has touched is undefined, and is not sent. */
export function begun(schema: unknown, isRequired = true): unknown {
  if (!isSchema(schema)) return undefined;
  if ("default" in schema) return schema.default;
  if (kindOf(schema) !== "object") return undefined;
  const members = propertiesOf(schema).map(([name, each, isNeeded]) => [name, begun(each, isNeeded)] as const);
  const found = members.filter(([, value]) => value !== undefined);
  return found.length > 0 || isRequired ? Object.fromEntries(found) : undefined;
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** What is typed, as the value that the schema wants; text that is none is left for the server to refuse. */
export function typed(kind: FieldKind, text: string): unknown {
  if (kind !== "number") return text === "" ? undefined : text;
  const digits = text.trim();
  if (digits === "") return undefined;
  const number = NUMBER.test(digits) ? Number(digits) : NaN;
  // A whole number that is too long for the browser would be sent as another one.
  return Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number)) ? number : text;
}

/** The same object with a member set, or without it where the value is undefined. */
export function withMember(value: unknown, name: string, member: unknown): Record<string, unknown> {
  const rest = Object.entries(isSchema(value) ? value : {}).filter(([key]) => key !== name);
  return Object.fromEntries(member === undefined ? rest : [...rest, [name, member]]);
}

/** What is missing, in words of the page's language. The server says what else is wrong. */
export function missing(schema: unknown, value: unknown, path = ""): Problems {
  if (!isSchema(schema)) return {};
  const kind = kindOf(schema);
  if (kind === "list" && Array.isArray(value))
    return merged(
      value.map((item, number) => lacking(schema.items, item, `${path === "" ? "" : `${path}/`}${number}`)),
    );
  if (kind !== "object") return {};
  const given = isSchema(value) ? value : {};
  return merged(
    propertiesOf(schema).map(([name, each, isRequired]) => {
      const place = path === "" ? name : `${path}/${name}`;
      // Of a part that may be left out, and is, nothing is missing.
      return isRequired || given[name] !== undefined ? lacking(each, given[name], place) : {};
    }),
  );
}

/** The same for a value that must be there. An empty text can be one; an empty number or choice cannot. */
function lacking(schema: unknown, value: unknown, place: string): Problems {
  const kind = kindOf(schema);
  const isLeftOut = value === undefined || (value === "" && kind !== "text" && kind !== "long");
  return isLeftOut && kind !== "object" ? { [place]: say("is needed") } : missing(schema, value, place);
}

function merged(found: Problems[]): Problems {
  return Object.assign({}, ...found) as Problems;
}

/** The server's complaints by field; those about the whole answer are under "". */
export function problemsOf(facts: Record<string, unknown>): Problems {
  const listed = Array.isArray(facts.problems) ? facts.problems.filter(isSchema) : [];
  const pairs = listed.map((each) => [each.field === "data" ? "" : String(each.field), String(each.rule)] as const);
  return Object.fromEntries(pairs.reverse()); // of several about one field, the first is shown
}

/** The same complaints, each at a field that the form has: one about what is inside or beside a field says where. */
export function placed(problems: Problems, schema: unknown, answer: unknown): Problems {
  const found: Record<string, string[]> = {};
  for (const [path, rule] of Object.entries(problems)) {
    const [field, rest] = fieldFor(path, schema, answer);
    (found[field] ??= []).push(rest === "" ? rule : `${rest}: ${rule}`);
  }
  return Object.fromEntries(Object.entries(found).map(([field, rules]) => [field, rules.join("; ")]));
}

/** The field for a path within the answer, and what of the path is left inside that field. */
function fieldFor(path: string, schema: unknown, value: unknown): [string, string] {
  if (!isSchema(schema) || path === "") return ["", path];
  for (const [name, part, member] of partsOf(schema, value)) {
    if (path !== name && !path.startsWith(`${name}/`)) continue;
    const [field, rest] = fieldFor(path.slice(name.length + 1), part, member);
    return [field === "" ? name : `${name}/${field}`, rest];
  }
  return ["", path];
}

/** What a form shows of a value by itself: its name, its schema and what it is now. */
function partsOf(schema: Schema, value: unknown): [string, unknown, unknown][] {
  const kind = kindOf(schema);
  if (kind === "list" && Array.isArray(value)) return value.map((item, number) => [String(number), schema.items, item]);
  if (kind !== "object") return [];
  const given = isSchema(value) ? value : {};
  return propertiesOf(schema).map(([name, each]) => [name, each, given[name]]);
}
