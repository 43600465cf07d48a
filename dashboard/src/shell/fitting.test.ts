import { expect, test } from "vitest";

import { fitting } from "./fitting";

const COMMANDS = [
  { name: "Go to Tasks", about: "page" },
  { name: "New task", about: "action" },
  { name: "Use the dark theme", about: "action" },
];

test.each([
  ["", 3],
  ["tas", 2],
  ["new ta", 1],
  ["task new", 1],
  ["ark", 0],
  ["DARK", 1],
])("%j finds %d", (text, number) => {
  expect(fitting(COMMANDS, text)).toHaveLength(number);
});
