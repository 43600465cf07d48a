import { expect, test } from "vitest";

import { conditionsInWords, cronInWords, makesInWords, triggerInWords, whenInWords } from "./words";

test.each([
  ["30 2 * * *", "every day at 02:30"],
  ["0 9 * * 1", "every Monday at 09:00"],
  ["0 9 * * 1-5", "every weekday at 09:00"],
  ["5 18 * * 1,3,5", "every Monday, Wednesday and Friday at 18:05"],
  ["0 6 1 * *", "every month on the 1st at 06:00"],
  ["0 6 22 * *", "every month on the 22nd at 06:00"],
  ["*/15 * * * *", "every 15 minutes"],
  ["7 * * * *", "every hour at :07"],
  ["0 */6 * * *", "every 6 hours"],
  ["* * * * *", "every minute"],
  ["0 9 * 3 1#2", "cron 0 9 * 3 1#2"],
  ["0 9-17 * * *", "cron 0 9-17 * * *"],
])("the cron expression %j is %j", (cron, words) => {
  expect(cronInWords(cron)).toBe(words);
});

test("a time that was said in words is shown as it was said", () => {
  const said = { when: "every Monday at 09:00 Europe/Berlin", cron: "0 9 * * 1", timezone: "Europe/Berlin" };

  expect(whenInWords(said)).toBe("every Monday at 09:00 Europe/Berlin");
});

test("a time that was written as cron is said in words, with its zone", () => {
  expect(whenInWords({ when: "30 2 * * * Europe/Berlin", cron: "30 2 * * *", timezone: "Europe/Berlin" })).toBe(
    "every day at 02:30, Europe/Berlin",
  );
});

test.each([
  ["webhook", { scheme: "github" }, "When GitHub delivers to /api/hooks/it"],
  [
    "files",
    { path: "/in", patterns: ["*.csv"], changes: ["added", "modified"] },
    "When a file like *.csv in /in is added or modified",
  ],
  ["dag", { status: ["completed"], tag: "etl", title: null, type: null }, "When a DAG with tag etl is completed"],
  [
    "rule",
    { measure: "failure_rate", type: "code", above: 0.4, over: 50, window_sec: 86400 },
    "When the share of failed attempts at tasks of type code is above 40 % over 50 of them, at most once a day",
  ],
])("a trigger by %s says what it listens to", (source, settings, words) => {
  expect(triggerInWords({ source, settings, path: "it" })).toBe(words);
});

test("conditions and templates are said in words", () => {
  expect(
    conditionsInWords({ "body.action": ["opened", "reopened"], "body.draft": false, "body.number": { exists: true } }),
  ).toEqual(["body.action is opened or reopened", "body.draft is false", "body.number is there"]);
  expect(makesInWords({ task: { type: "audit" } })).toBe("a task of type audit");
  expect(makesInWords({ dag: { title: "Nightly", tasks: [{}, {}] } })).toBe("a DAG of 2 tasks, “Nightly”");
});
