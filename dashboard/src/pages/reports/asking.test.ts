import { describe, expect, it } from "vitest";

import { asCommand, asPath, measureWords, questionOf } from "./asking";

const NOW = Date.parse("2026-03-08T10:20:00Z");

describe("a report in the address", () => {
  it("is of the last seven days by type where nothing is said", () => {
    const question = questionOf(new URLSearchParams(""), NOW);
    expect(question).toMatchObject({ by: ["type"], source: "attempts", period: 7, chart: "attempts" });
    expect(question.since).toBe("2026-03-01T10:00:00.000Z");
  });

  it("leaves out what there is not", () => {
    const question = questionOf(new URLSearchParams("by=colour&by=day&by=day&measure=beauty&days=12&chart=x"), NOW);
    expect(question).toMatchObject({ by: ["day"], period: 7, chart: "attempts" });
  });

  it("is a command and a call", () => {
    const question = questionOf(
      new URLSearchParams("by=day&by=model&measure=cost&source=days&since=2026-03-01T00:00:00Z&type=code+write"),
      NOW,
    );
    expect(asCommand(question)).toBe(
      "taskyard report --by day --by model --measure cost --source days --since 2026-03-01T00:00:00Z --type code --type write",
    );
    expect(asPath(question)).toBe(
      "/api/reports?by=day&by=model&measures=cost&source=days&since=2026-03-01T00%3A00%3A00Z&type=code&type=write",
    );
  });

  it("has words for its measures", () => {
    expect(["tasks", "cost", "duration_p95"].map(measureWords)).toEqual(["Tasks", "Cost, sum", "Duration p95"]);
  });
});
