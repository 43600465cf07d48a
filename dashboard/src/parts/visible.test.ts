import { expect, test } from "vitest";

import { visible } from "./visible";

test("what is obeyed is shown as an escape", () => {
  expect(visible("\u202egnp.exe")).toBe("\\u202egnp.exe");
  expect(visible("a\u0007b\u001b[2J")).toBe("a\\u0007b\\u001b[2J");
  expect(visible("zero\u200bwidth")).toBe("zero\\u200bwidth");
  expect(visible("tag\u{e0041}")).toBe("tag\\udb40\\udc41");
  expect(visible("half\ud800")).toBe("half\\ud800");
});

test("what is shown stays: other scripts, emoji and their joiners", () => {
  for (const text of ["שלום", "🏳️‍🌈", "नमस्ते", "two\nlines\tand a tab"]) expect(visible(text)).toBe(text);
});
