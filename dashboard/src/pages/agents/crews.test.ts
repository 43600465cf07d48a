import { expect, test } from "vitest";

import type { Agent } from "@/api/crews";

import { crewsOf } from "./crews";

function agent(id: string, type: string, facts: Partial<Agent> = {}): Agent {
  const money = { budget_usd: null, budget_per: "ever", budget_set_by: null, own_budget_usd: null };
  const known = { id, type, status: "active", current_tasks: 0, ...money, budget_left_usd: null };
  return { ...known, ...facts } as Agent;
}

test("workers are gathered under their type, and those that are gone are told apart", () => {
  const [coder, writer] = crewsOf([
    agent("w-1", "writer", { status: "offline" }),
    agent("c-1", "coder"),
    agent("c-2", "coder", { status: "offline" }),
    agent("c-3", "coder", { status: "offline", current_tasks: 1 }),
  ]);
  expect([coder?.type, coder?.here.map(({ id }) => id), coder?.gone.map(({ id }) => id)]).toEqual([
    "coder",
    ["c-1", "c-3"],
    ["c-2"],
  ]);
  expect(writer?.here).toEqual([]);
});

test("what is left of a type's budget is not what is left of one worker's own", () => {
  const budget = { budget_usd: "5", budget_per: "day", budget_set_by: "operator" };
  const [crew] = crewsOf([
    agent("a", "coder", { ...budget, budget_left_usd: "4.50" }),
    agent("b", "coder", { ...budget, own_budget_usd: "1", budget_left_usd: "0.25" }),
  ]);
  expect(crew?.budget).toEqual({ usd: "5", leftUsd: "4.50", per: "day", setBy: "operator" });
});
