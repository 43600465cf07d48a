import { describe, expect, it } from "vitest";

import {
  begun,
  choicesOf,
  inputType,
  isShort,
  kindOf,
  missing,
  placed,
  problemsOf,
  titleOf,
  typed,
  wantedOf,
  withMember,
} from "./schema";

const ADDRESS = {
  type: "object",
  properties: {
    street: { type: "string", title: "Street" },
    floor: { type: "integer", default: 1 },
    more: { type: "object", properties: { rent: { type: "number" } }, required: ["rent"] },
  },
  required: ["street", "more"],
};

describe("fields of a schema", () => {
  it.each([
    [{ type: "string" }, "text"],
    [{ type: "string", maxLength: 5000 }, "long"],
    [{ type: "string", format: "uri", maxLength: 2083 }, "text"],
    [{ type: "string", format: "binary" }, "file"],
    [{ type: "integer" }, "number"],
    [{ type: "boolean" }, "boolean"],
    [{ enum: ["a", 1] }, "choice"],
    [{ oneOf: [{ const: "a", title: "A" }] }, "choice"],
    [{ oneOf: [{ const: "a" }, { type: "number" }] }, "json"],
    [{ type: "array", items: { type: "string" } }, "list"],
    [ADDRESS, "object"],
    [{ type: ["string", "null"] }, "json"],
    [true, "json"],
  ])("%j is asked for as %s", (schema, kind) => expect(kindOf(schema)).toBe(kind));

  it.each([
    ["date", "date"],
    ["email", "email"],
    ["uri", "url"],
    ["date-time", "text"],
  ])("of the format %s have an input of the type %s", (format, type) => expect(inputType({ format })).toBe(type));

  it("of JSON say what fits", () => {
    expect(isShort({ anyOf: [{ type: "number" }, { type: "null" }] })).toBe(true);
    expect(isShort({ anyOf: [{ type: "number" }, { type: "object" }] })).toBe(false);
    expect(wantedOf({ title: "Pay", oneOf: [ADDRESS] })).toEqual({ oneOf: [ADDRESS] });
    expect([wantedOf({ title: "Any" }), wantedOf({ type: "object" })]).toEqual([null, null]);
  });

  it("have titles, and names as words where there is none", () => {
    expect(titleOf(ADDRESS.properties.street, "street")).toBe("Street");
    expect(titleOf({}, "max_rent")).toBe("Max rent");
    expect(choicesOf({ oneOf: [{ const: 2, title: "Two" }] })).toEqual([{ value: 2, title: "Two" }]);
  });
});

describe("an answer", () => {
  it("begins with defaults and nothing else", () => expect(begun(ADDRESS)).toEqual({ floor: 1, more: {} }));

  it("is what was typed, by its kind", () => {
    expect([typed("number", "2.5"), typed("number", "x"), typed("text", ""), typed("text", "2")]).toEqual([
      2.5,
      "x",
      undefined,
      "2",
    ]);
    expect(withMember({ a: 1, b: 2 }, "a", undefined)).toEqual({ b: 2 });
  });

  it.each([
    ["2.", 2],
    ["-0.05", -0.05],
    ["1e3", 1000],
    [" ", undefined],
    ["0x10", "0x10"],
    ["Infinity", "Infinity"],
    ["12345678901234567", "12345678901234567"],
  ])("has of %j in a field for numbers %j", (text, value) => expect(typed("number", text)).toBe(value));

  it("leaves out a part that nobody touched and nobody needs", () => {
    const optional = { ...ADDRESS, required: ["street"] };
    expect(begun(optional)).toEqual({ floor: 1 });
    expect(missing(optional, { street: "A" })).toEqual({});
    expect(missing(optional, { street: "A", more: { other: 1 } })).toEqual({ "more/rent": "is needed" });
  });

  it("lacks what is required, also within", () =>
    expect(missing(ADDRESS, begun(ADDRESS))).toEqual({ street: "is needed", "more/rent": "is needed" }));

  it("lacks entries of a list that were added and not filled in", () => {
    const listed = (items: unknown) => ({ type: "array", items });
    expect(missing(listed(ADDRESS), [{ street: "A", more: { rent: 1 } }, {}])).toEqual({
      "1/street": "is needed",
      "1/more/rent": "is needed",
    });
    expect(missing(listed({ type: "integer" }), [1, "", undefined])).toEqual({ "1": "is needed", "2": "is needed" });
    expect(missing(listed({ type: "string" }), [""])).toEqual({});
  });

  it("has the server's complaints by field", () =>
    expect(
      problemsOf({
        problems: [
          { field: "street", rule: "is short" },
          { field: "street", rule: "is odd" },
          { field: "data", rule: "no" },
        ],
      }),
    ).toEqual({ street: "is short", "": "no" }));

  it("has every complaint at a field that the form has", () => {
    const schema = {
      type: "object",
      properties: { "a/b": { type: "string" }, extra: { type: "object" }, parts: { type: "array", items: ADDRESS } },
    };
    const found = {
      "a/b": "is short",
      "extra/x/0": "no",
      "extra/y": "odd",
      "parts/0/more/rent": "low",
      ghost: "lacks",
    };
    expect(placed(found, schema, { parts: [{}] })).toEqual({
      "a/b": "is short",
      extra: "x/0: no; y: odd",
      "parts/0/more/rent": "low",
      "": "ghost: lacks",
    });
  });
});
