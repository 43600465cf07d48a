import { expect, test } from "vitest";

import { cursorAt, fieldOf, lineAt, pathIn, placeOf } from "./json-text";
import { faultsIn, keysAt, valuesAt, type Document } from "./schema";

const DOCUMENT: Document = {
  components: {
    schemas: {
      Task: {
        type: "object",
        additionalProperties: false,
        required: ["type"],
        properties: {
          type: { type: "string", description: "What kind of work" },
          dedup: { anyOf: [{ enum: ["payload", "none"] }, { type: "null" }] },
          priority: { anyOf: [{ type: "integer" }, { type: "null" }] },
          payload: {},
          retry: { $ref: "#/components/schemas/Retry" },
        },
      },
      Retry: {
        type: "object",
        additionalProperties: false,
        properties: { strategy: { enum: ["fixed", "immediate"] } },
      },
      Dag: { type: "object", properties: { tasks: { type: "array", items: { $ref: "#/components/schemas/Task" } } } },
    },
  },
};
const TASK = { $ref: "#/components/schemas/Task" };
const DAG = { $ref: "#/components/schemas/Dag" };

/** The text before and behind the mark. */
function at(marked: string) {
  const place = marked.indexOf("|");
  return cursorAt(marked.replace("|", ""), place);
}

test.each([
  ['{"ty|', { expects: "key", prefix: "ty", path: [], isQuoted: true }],
  ['{"type": "code", |', { expects: "key", prefix: "", path: [], used: ["type"] }],
  ['{"retry": {"str|', { expects: "key", prefix: "str", path: ["retry"] }],
  ['{"dedup": |', { expects: "value", prefix: "", path: ["dedup"] }],
  ['{"dedup": "pa|', { expects: "value", prefix: "pa", path: ["dedup"] }],
  ['{"tasks": [{"type": "a"}, {"retry": {"strategy": |', { expects: "value", path: ["tasks", 1, "retry", "strategy"] }],
  ['{"payload": {"a b": [1, {"x": "}"}], "c|', { expects: "key", prefix: "c", path: ["payload"], used: ["a b"] }],
  ['{"type": "code"|', { expects: "nothing" }],
  ["|", { expects: "value", path: [] }],
])("in %s something is known of what comes next", (marked, expected) => {
  expect(at(marked)).toMatchObject(expected);
});

test("what the server names is found in the text", () => {
  const text = '{\n  "tasks": [\n    {"type": "a"},\n    {"type": "b", "depends_on": ["x"]}\n  ]\n}';

  expect(pathIn("tasks[1].depends_on")).toEqual(["tasks", 1, "depends_on"]);
  expect(fieldOf(["tasks", 1, "depends_on"])).toBe("tasks[1].depends_on");
  expect(lineAt(text, placeOf(text, pathIn("tasks[1].depends_on"))).line).toBe(4);
  expect(lineAt(text, placeOf(text, pathIn("tasks[1].prompt"))).line).toBe(4);
  expect(placeOf(text, pathIn("title"))).toBe(0);
});

test("keys and values are those of the schema at the place", () => {
  expect(keysAt(DOCUMENT, TASK, []).map(({ text }) => text)).toContain('"dedup"');
  expect(keysAt(DOCUMENT, DAG, ["tasks", 3, "retry"]).map(({ text }) => text)).toEqual(['"strategy"']);
  expect(valuesAt(DOCUMENT, TASK, ["dedup"]).map(({ text }) => text)).toEqual(['"payload"', '"none"', "null"]);
  expect(keysAt(DOCUMENT, TASK, []).find(({ text }) => text === '"type"')?.about).toBe("What kind of work");
});

test("what is plainly wrong is named by field and rule", () => {
  const dag = { tasks: [{ type: "a" }, { dedup: "often", priority: "high", colour: 1 }] };

  expect(faultsIn(DOCUMENT, DAG, dag)).toEqual([
    { field: "tasks[1].type", rule: "must be given" },
    { field: "tasks[1].dedup", rule: "must be one of payload, none or null" },
    { field: "tasks[1].priority", rule: "must be a whole number or null" },
    { field: "tasks[1].colour", rule: "is not a field that is known here" },
  ]);
  expect(faultsIn(DOCUMENT, TASK, { type: "a", payload: { any: ["thing"] }, priority: null })).toEqual([]);
});
