import { expect, test } from "vitest";

import { enqueueCommand } from "./draft-text";

test("a draft is a line of the shell, whatever is in it", () => {
  const draft = {
    type: "code",
    prompt: "Fix the user's bug",
    tags: ["a", "b"],
    priority: 10,
    payload: { file: "x y" },
    retry: { strategy: "fixed" },
  };

  expect(enqueueCommand(draft)).toBe(
    `taskyard enqueue code --prompt 'Fix the user'\\''s bug' --tag a --tag b --priority 10 --payload '{"file":"x y"}' --set 'retry={"strategy":"fixed"}'`,
  );
  expect(enqueueCommand({})).toBe("taskyard enqueue TYPE");
});
