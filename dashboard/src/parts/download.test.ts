import { describe, expect, it } from "vitest";

import { csvOf, jsonLines } from "./download";

describe("comma-separated values", () => {
  it("quotes what would break a row", () => {
    expect(csvOf(["a", "b"], [["x,y", 'say "hi"\nnow']])).toBe('a,b\n"x,y","say ""hi""\nnow"\n');
  });

  it("lets no text be a formula, and leaves numbers alone", () => {
    expect(csvOf(["a"], [["=1+1"], ["@x"], [-1], [null]])).toBe("a\n'=1+1\n'@x\n-1\n\n");
  });

  it("shows what would turn the text around", () => {
    expect(csvOf(["a"], [["x\u202ey"]])).toBe("a\nx\\u202ey\n");
  });
});

it("writes a line for each value", () => {
  expect(jsonLines([{ a: 1 }, "b"])).toBe('{"a":1}\n"b"\n');
});
