/** Agents as people know them: by their type, with the workers that there are of it. */
import type { Agent } from "@/api/crews";
import { gathered } from "@/parts/gather";

export interface Crew {
  type: string;
  here: readonly Agent[]; // working, or able to
  gone: readonly Agent[]; // signed off or lost, with nothing in hand: workers come and go under ids of their own
  budget: Budget | null;
}

export interface Budget {
  usd: string;
  leftUsd: string;
  per: string; // ever, day or month
  setBy: string | null; // code or operator
}

/** By their names; a type of which nobody is there comes after all others. */
export function crewsOf(agents: readonly Agent[]): Crew[] {
  const crews = [...gathered(agents, ({ type }) => type)].map(([type, members]) => crewOf(type, members));
  const isEmpty = ({ here }: Crew) => Number(here.length === 0);
  return crews.sort((a, b) => isEmpty(a) - isEmpty(b) || (a.type < b.type ? -1 : 1));
}

function crewOf(type: string, members: readonly Agent[]): Crew {
  const here = members.filter((agent) => !isGone(agent));
  return { type, here, gone: members.filter(isGone), budget: budgetOf(members) };
}

function isGone({ status, current_tasks }: Agent): boolean {
  return status === "offline" && current_tasks === 0;
}

/** What is left is told of each worker: the least of its type's and its own, so the most of them is the type's. */
function budgetOf(members: readonly Agent[]): Budget | null {
  const [first] = members;
  if (first === undefined || first.budget_usd === null) return null;
  const left = members.map(({ budget_left_usd: usd }) => usd ?? "0");
  const leftUsd = left.reduce((most, usd) => (Number(usd) > Number(most) ? usd : most));
  return { usd: first.budget_usd, leftUsd, per: first.budget_per, setBy: first.budget_set_by };
}
