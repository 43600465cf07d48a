/** What a JSON Schema of the server's allows at a place of a document, and what is plainly wrong with one. */
import { say } from "@/language/say";

import { fieldOf, type Path } from "./json-text";

export type Document = Record<string, unknown>;
export type Schema = Record<string, unknown>;

export interface Suggestion {
  text: string; // as it is written, quotation marks included
  about: string;
}

export interface Fault {
  field: string;
  rule: string;
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The schema of a body, by its name in the document. */
export function schemaNamed(document: Document, name: string): Schema {
  const found = (document["components"] as { schemas?: Record<string, Schema> } | undefined)?.schemas?.[name];
  return found ?? {};
}

/** The schemas that a value may follow: what is referred to, and each of several choices. */
function choices(document: Document, schema: unknown, depth = 0): Schema[] {
  if (!isObject(schema) || depth > 8) return [];
  const name = typeof schema["$ref"] === "string" ? schema["$ref"].split("/").at(-1) : undefined;
  if (name !== undefined) return choices(document, schemaNamed(document, name), depth + 1);
  const several = [schema["anyOf"], schema["oneOf"], schema["allOf"]].find(Array.isArray) as unknown[] | undefined;
  if (several === undefined) return [schema];
  return several.flatMap((each) => choices(document, each, depth + 1));
}

function step(document: Document, schema: Schema, part: string | number): Schema[] {
  if (typeof part === "number") return choices(document, schema["items"]);
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  return choices(document, properties[part] ?? schema["additionalProperties"]);
}

function schemasAt(document: Document, schema: Schema, path: Path): Schema[] {
  return path.reduce<Schema[]>(
    (found, part) => found.flatMap((each) => step(document, each, part)),
    choices(document, schema),
  );
}

/** The keys that an object may have there. */
export function keysAt(document: Document, schema: Schema, path: Path): Suggestion[] {
  return schemasAt(document, schema, path).flatMap((found) =>
    Object.entries(isObject(found["properties"]) ? found["properties"] : {}).map(([name, each]) => ({
      text: JSON.stringify(name),
      about: wordsAbout(document, each),
    })),
  );
}

/** The values that are known for a place: choices, true and false, and how an object or a list begins. */
export function valuesAt(document: Document, schema: Schema, path: Path): Suggestion[] {
  return schemasAt(document, schema, path).flatMap((found): Suggestion[] => {
    const known = [found["enum"], found["const"] === undefined ? undefined : [found["const"]]].find(Array.isArray);
    if (known !== undefined)
      return (known as unknown[]).map((value) => ({
        text: JSON.stringify(value),
        about: textIn(found["description"]),
      }));
    switch (found["type"]) {
      case "boolean":
        return [true, false].map((value) => ({ text: String(value), about: "" }));
      case "object":
        return [{ text: "{}", about: say("an object") }];
      case "array":
        return [{ text: "[]", about: say("a list") }];
      case "null":
        return [{ text: "null", about: say("nothing") }];
      default:
        return [];
    }
  });
}

function wordsAbout(document: Document, schema: unknown): string {
  if (!isObject(schema)) return "";
  if (typeof schema["description"] === "string") return schema["description"];
  const kinds = choices(document, schema).map((each) => textIn(each["type"]) || say("any value"));
  return [...new Set(kinds.filter((kind) => kind !== "null"))].join(` ${say("or")} `);
}

/** What is plainly wrong: unknown members, missing ones, values of another kind. The server says the rest. */
export function faultsIn(document: Document, schema: Schema, value: unknown, path: Path = []): Fault[] {
  const allowed = choices(document, schema);
  if (allowed.length === 0) return [];
  const fitting = allowed.filter((each) => fits(each, value));
  const rule = (words: string): Fault[] => [{ field: fieldOf(path), rule: words }];
  if (fitting.length === 0) return rule(say("must be {kinds}", { kinds: kindsOf(allowed) }));
  const faults = fitting.map((each) => within(document, each, value, path));
  return faults.find((each) => each.length === 0) ?? faults[0] ?? [];
}

function within(document: Document, schema: Schema, value: unknown, path: Path): Fault[] {
  if (Array.isArray(value)) {
    const items = schema["items"];
    return isObject(items) ? value.flatMap((each, index) => faultsIn(document, items, each, [...path, index])) : [];
  }
  if (!isObject(value)) return [];
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const isOpen = schema["properties"] === undefined || (schema["additionalProperties"] ?? true) !== false;
  const required = Array.isArray(schema["required"]) ? (schema["required"] as string[]) : [];
  const missing = required
    .filter((name) => value[name] === undefined)
    .map((name) => ({ field: fieldOf([...path, name]), rule: say("must be given") }));
  const wrong = Object.entries(value).flatMap(([name, member]) => {
    const own = properties[name];
    if (isObject(own)) return faultsIn(document, own, member, [...path, name]);
    return isOpen ? [] : [{ field: fieldOf([...path, name]), rule: say("is not a field that is known here") }];
  });
  return [...missing, ...wrong];
}

function fits(schema: Schema, value: unknown): boolean {
  if (Array.isArray(schema["enum"])) return schema["enum"].includes(value);
  if ("const" in schema) return schema["const"] === value;
  switch (schema["type"]) {
    case "null":
      return value === null;
    case "string":
      return typeof value === "string";
    case "boolean":
      return typeof value === "boolean";
    case "integer":
      return typeof value === "number" && Number.isInteger(value);
    case "number":
      return typeof value === "number";
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    default:
      return true;
  }
}

const KINDS: Record<string, string> = {
  string: say("a text"),
  integer: say("a whole number"),
  number: say("a number"),
  boolean: say("true or false"),
  array: say("a list"),
  object: say("an object"),
  null: "null",
};

function kindsOf(schemas: readonly Schema[]): string {
  const kinds = schemas.map((each) =>
    Array.isArray(each["enum"])
      ? say("one of {values}", { values: each["enum"].join(", ") })
      : (KINDS[String(each["type"])] ?? say("another value")),
  );
  return [...new Set(kinds)].join(` ${say("or")} `);
}
