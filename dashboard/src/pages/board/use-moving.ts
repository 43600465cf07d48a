/** Cards that are picked up and put down, by pointer or by keys. What a move comes to is `moving.ts`'s. */
import { useCallback, useEffect, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";

import type { BoardCard } from "@/api/board";
import { say } from "@/language/say";

import { moveOf, type Move } from "./moving";

/** A column, in a lane where there are any. */
export interface Cell {
  column: string;
  lane: string | null;
}

export interface Lifted {
  card: BoardCard;
  home: Cell;
  cards: readonly BoardCard[]; // of the cell it was picked up from, as they were then
  over: Cell | null; // null: beside the board
  to: number; // its place among the others
  byKeys: boolean;
}

interface Moving {
  lifted: Lifted | null;
  words: string; // what is said to who cannot see it
  pick: (card: BoardCard, event: PointerEvent<HTMLElement>) => void;
  press: (card: BoardCard, event: KeyboardEvent<HTMLElement>) => void;
  cancel: () => void;
}

const FAR = 5; // pixels that a pointer must go for a press to become a move

interface Options {
  cellOf: (card: BoardCard) => { cell: Cell; cards: readonly BoardCard[] };
  onDrop: (lifted: Lifted, move: Move) => void;
}

export function sameCell(one: Cell | null, other: Cell): boolean {
  return one !== null && one.column === other.column && one.lane === other.lane;
}

/** What a drop here and now would do. */
export function moveNow(lifted: Lifted): Move {
  if (lifted.over === null) return { kind: "same" };
  if (lifted.over.column !== lifted.home.column)
    return {
      kind: "refused",
      why: say("A task goes to another column when its state changes: a move only says what comes first."),
    };
  if (lifted.over.lane !== lifted.home.lane)
    return {
      kind: "refused",
      why: say("A move cannot give a task to another agent or subject: it only says what comes first."),
    };
  return moveOf(lifted.cards, lifted.card.task.id, lifted.to);
}

export function useMoving({ cellOf, onDrop }: Options): Moving {
  const [lifted, setLifted] = useState<Lifted | null>(null);
  const [words, setWords] = useState("");
  const following = useRef<AbortController | null>(null);

  const cancel = useCallback(() => {
    following.current?.abort();
    following.current = null;
    setLifted(null);
  }, []);

  useEffect(() => () => following.current?.abort(), []);

  const pick = useCallback(
    (card: BoardCard, event: PointerEvent<HTMLElement>) => {
      const begin = { x: event.clientX, y: event.clientY };
      const { cell, cards } = cellOf(card);
      let now: Lifted | null = null;
      following.current?.abort();
      const watch = new AbortController();
      following.current = watch;
      const on = { signal: watch.signal };
      window.addEventListener(
        "pointermove",
        (moved) => {
          if (now === null && Math.hypot(moved.clientX - begin.x, moved.clientY - begin.y) < FAR) return;
          moved.preventDefault();
          const place = placeAt(moved.clientX, moved.clientY, card.task.id);
          const next: Lifted = {
            card,
            home: cell,
            cards,
            over: place?.cell ?? null,
            to: place?.to ?? 0,
            byKeys: false,
          };
          if (now === null || now.to !== next.to || !isSame(now.over, next.over)) setLifted(next);
          now = next;
        },
        on,
      );
      window.addEventListener(
        "pointerup",
        () => {
          const dropped = now;
          cancel();
          if (dropped === null) return;
          onDrop(dropped, moveNow(dropped));
          // The press that ends a move is no click on what is under it.
          window.addEventListener("click", (click) => click.preventDefault(), { capture: true, once: true });
        },
        on,
      );
      window.addEventListener("pointercancel", cancel, on);
      window.addEventListener("keydown", (key) => key.key === "Escape" && cancel(), on);
    },
    [cellOf, onDrop, cancel],
  );

  const press = useCallback(
    (card: BoardCard, event: KeyboardEvent<HTMLElement>) => {
      const isPress = event.key === "Enter" || event.key === " ";
      if (lifted?.byKeys !== true || lifted.card.task.id !== card.task.id) {
        if (!isPress) return;
        event.preventDefault();
        const { cell, cards } = cellOf(card);
        const to = cards.findIndex(({ task }) => task.id === card.task.id);
        setLifted({ card, home: cell, cards, over: cell, to, byKeys: true });
        setWords(
          say("Picked up, {to} of {cards}. Arrows move it, Enter puts it down, Escape puts it back.", {
            to: to + 1,
            cards: cards.length,
          }),
        );
        return;
      }
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (step !== undefined) {
        event.preventDefault();
        const next = { ...lifted, to: Math.min(Math.max(lifted.to + step, 0), lifted.cards.length - 1) };
        const move = moveNow(next);
        setLifted(next);
        setWords(
          say("{to} of {cards}", { to: next.to + 1, cards: next.cards.length }) +
            (move.kind === "moved" ? `, ${say("priority {priority}", { priority: move.priority })}` : ""),
        );
      } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        event.preventDefault();
        const elsewhere = moveNow({ ...lifted, over: { ...lifted.home, column: "" } });
        setWords(elsewhere.kind === "refused" ? elsewhere.why : "");
      } else if (isPress) {
        event.preventDefault();
        cancel();
        onDrop(lifted, moveNow(lifted));
      } else if (event.key === "Escape") {
        event.preventDefault();
        cancel();
        setWords(say("Put back."));
      }
    },
    [lifted, cellOf, onDrop, cancel],
  );

  return { lifted, words, pick, press, cancel };
}

function isSame(one: Cell | null, other: Cell | null): boolean {
  return one === null || other === null ? one === other : sameCell(one, other);
}

/** The cell under the pointer, and the place in it: before the first other card whose middle is below the pointer. */
function placeAt(x: number, y: number, id: string): { cell: Cell; to: number } | null {
  const cell = document.elementFromPoint(x, y)?.closest<HTMLElement>("[data-column]");
  const column = cell?.dataset["column"];
  if (cell === null || cell === undefined || column === undefined) return null;
  const others = [...cell.querySelectorAll<HTMLElement>("[data-task]")].filter((each) => each.dataset["task"] !== id);
  const found = others.findIndex((each) => {
    const { top, height } = each.getBoundingClientRect();
    return y < top + height / 2;
  });
  return { cell: { column, lane: cell.dataset["lane"] ?? null }, to: found === -1 ? others.length : found };
}
