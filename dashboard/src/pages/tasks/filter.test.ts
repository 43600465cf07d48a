import { expect, test } from "vitest";

import { asOptions, filterOf } from "./filter";

test("the address says which tasks are meant, and what it does not say is not asked for", () => {
  const filter = filterOf(new URLSearchParams("status=ready&status=running&type=code&q=login&tag="));

  expect(filter).toEqual({ status: ["ready", "running"], type: ["code"], q: "login" });
});

test("the same filter is a line of the shell", () => {
  const options = asOptions({ status: ["ready"], type: ["code", "review"], agent: "coder-1", q: "a b" });

  expect(options.join(" ")).toBe("--status ready --type code --type review --agent coder-1 --text a b");
});
