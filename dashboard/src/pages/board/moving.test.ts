import { describe, expect, it } from "vitest";

import type { BoardCard } from "@/api/board";

import { inOrder, moveOf, withPriority } from "./moving";

function card(id: string, priority: number, seq: number, standing = priority): BoardCard {
  return { lane: null, standing, task: { id, priority, seq } } as unknown as BoardCard;
}

/** Where the card stands once it has the priority that the move gives it. */
function placeAfter(cards: BoardCard[], id: string, to: number): number {
  const move = moveOf(cards, id, to);
  if (move.kind !== "moved") throw new Error(move.kind);
  const after = inOrder(cards.map((each) => (each.task.id === id ? withPriority(each, move.priority) : each)));
  return after.findIndex(({ task }) => task.id === id);
}

const LINE = [card("a", 10, 1), card("b", 30, 2), card("c", 50, 3), card("d", 80, 4)];

describe("a card that is moved", () => {
  it("gets a priority between its neighbours", () => {
    expect(moveOf(LINE, "d", 1)).toEqual({ kind: "moved", priority: 20, isExact: true });
    expect(moveOf(LINE, "a", 2)).toMatchObject({ kind: "moved", isExact: true });
    expect([placeAfter(LINE, "d", 1), placeAfter(LINE, "a", 2), placeAfter(LINE, "b", 2)]).toEqual([1, 2, 2]);
  });

  it("stands beside its one neighbour at an end of the column", () => {
    expect(moveOf(LINE, "c", 0)).toEqual({ kind: "moved", priority: 9, isExact: true });
    expect(moveOf(LINE, "a", 3)).toEqual({ kind: "moved", priority: 81, isExact: true });
  });

  it("stays where it is put back", () => {
    expect(moveOf(LINE, "b", 1)).toEqual({ kind: "same" });
    expect(moveOf(LINE, "nobody", 1)).toEqual({ kind: "same" });
  });

  it("counts what age and deadlines have brought", () => {
    const aged = [card("a", 50, 1, 12.5), card("b", 50, 2, 14.5), card("c", 50, 3, 50)];
    expect(moveOf(aged, "c", 1)).toEqual({ kind: "moved", priority: 14, isExact: true });
    expect(moveOf(aged, "a", 2)).toEqual({ kind: "moved", priority: 88, isExact: true });
  });

  it("goes before all its equals where there is no place between two of them, and says so", () => {
    const equals = [card("a", 50, 1), card("b", 50, 2), card("c", 50, 3), card("d", 50, 4)];
    expect(moveOf(equals, "d", 2)).toEqual({ kind: "moved", priority: 49, isExact: false });
    expect(moveOf(equals, "a", 1)).toEqual({ kind: "moved", priority: 51, isExact: false });
  });

  it("goes among equals by when it came, where that is the place it is put", () => {
    const cards = [card("new", 10, 9), card("a", 50, 1), card("z", 50, 20)];
    expect(moveOf(cards, "new", 1)).toEqual({ kind: "moved", priority: 50, isExact: true });
  });

  it("is refused where priorities end", () => {
    const first = [card("a", 0, 1), card("b", 0, 2), card("c", 0, 3)];
    expect(moveOf(first, "c", 0)).toMatchObject({ kind: "refused" });
    const last = [card("a", 100, 1), card("b", 100, 2)];
    expect(moveOf(last, "a", 1)).toMatchObject({ kind: "refused" });
  });
});
