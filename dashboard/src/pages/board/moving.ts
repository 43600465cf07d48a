/** Which priority a card must have to stand at another place of its column. Nothing here knows a page. */
import type { BoardCard } from "@/api/board";
import { say } from "@/language/say";

export type Move =
  | { kind: "same" }
  | { kind: "moved"; priority: number; isExact: boolean } // not exact: it goes further than it was put
  | { kind: "refused"; why: string };

const LEAST = 0;
const MOST = 100;
const NEAR = 1e-6; // standings are told to so many digits

/** `to` is the place among the other cards: 0 is before all of them. */
export function moveOf(cards: readonly BoardCard[], id: string, to: number): Move {
  const from = cards.findIndex(({ task }) => task.id === id);
  const moved = cards[from];
  if (moved === undefined || to === from) return { kind: "same" };
  const others = cards.filter((each) => each !== moved);
  const above = others[to - 1];
  const below = others[to];
  const isAfter = (priority: number) => above === undefined || isBefore(above, withPriority(moved, priority));
  const isAhead = (priority: number) => below === undefined || isBefore(withPriority(moved, priority), below);
  const all = Array.from({ length: MOST - LEAST + 1 }, (_, index) => LEAST + index);
  const between = all.filter((priority) => isAfter(priority) && isAhead(priority));
  // At an end of the column there is one neighbour, and the card stands beside it and not half-way to nowhere.
  const middle = above === undefined ? between.length - 1 : below === undefined ? 0 : Math.floor(between.length / 2);
  const exact = between[middle];
  if (exact !== undefined) return { kind: "moved", priority: exact, isExact: true };
  const further = to < from ? all.filter(isAhead).at(-1) : all.find(isAfter);
  if (further !== undefined) return { kind: "moved", priority: further, isExact: false };
  return {
    kind: "refused",
    why:
      to < from
        ? say("No priority is more urgent than {limit}: nothing can go before what stands first by it.", {
            limit: LEAST,
          })
        : say("No priority is less urgent than {limit}: nothing can go behind what stands last by it.", {
            limit: MOST,
          }),
  };
}

/** What a priority is worth for this card: age, deadline and dependents stay what they are. */
export function withPriority(card: BoardCard, priority: number): BoardCard {
  const standing = card.standing - card.task.priority + priority;
  return { ...card, standing, task: { ...card.task, priority } };
}

function isBefore(one: BoardCard, other: BoardCard): boolean {
  const difference = one.standing - other.standing;
  return Math.abs(difference) < NEAR ? one.task.seq < other.task.seq : difference < 0;
}

export function inOrder(cards: readonly BoardCard[]): BoardCard[] {
  return [...cards].sort((one, other) => (isBefore(one, other) ? -1 : 1));
}
