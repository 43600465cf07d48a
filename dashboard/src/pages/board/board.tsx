/** The agent board: tasks as cards, in columns by state and in lanes by agent, subject or type; dragged to reprioritise. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { SquareKanban } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import { Link, useSearchParams } from "react-router";

import { nameOf } from "@/actions/subject";
import {
  board,
  BOARD_FIELDS,
  LANES,
  setPriority,
  type Board as BoardAnswer,
  type BoardCard,
  type BoardColumn,
  type BoardField,
  type BoardFilter,
  type Lanes,
} from "@/api/board";
import { wordsOf } from "@/api/problem";
import { say } from "@/language/say";
import { ViewerNote } from "@/parts/action";
import { Broken, Empty, Loading } from "@/parts/empty";
import { FilterFields, useAddressFilter, type FilterFieldWords } from "@/parts/filter-fields";
import { count } from "@/parts/format";
import { Page } from "@/parts/page";
import { SavedViews } from "@/parts/saved-views";
import { useMay } from "@/session/session";
import { useShortcut } from "@/shell/shortcuts";
import { useToast } from "@/shell/toasts";

import { BoardCardView } from "./board-card";
import { inOrder, withPriority, type Move } from "./moving";
import { moveNow, sameCell, useMoving, type Cell, type Lifted } from "./use-moving";
import { asCommand, asList, asPath, columnWords, LANE_WORDS } from "./words";
import "./board.css";

const FIELDS: readonly FilterFieldWords<BoardField>[] = [
  { name: "q", label: say("Search"), hint: say("title, prompt or payload") },
  { name: "type", label: say("Type"), hint: "code" },
  { name: "queue", label: say("Queue"), hint: "default" },
  { name: "agent", label: say("Agent"), hint: say("held by, or addressed to") },
  { name: "subject", label: say("Subject"), hint: "issue:42" },
  { name: "tag", label: say("Tag"), hint: "nightly" },
  { name: "dag", label: "DAG", hint: "dag_…" },
];
const MOVABLE = new Set(["waiting", "ready"]);

export default function Board() {
  const filtering = useAddressFilter(BOARD_FIELDS);
  const [params, setParams] = useSearchParams();
  const lanes = LANES.find((each) => each === params.get("lanes"));
  const { data, error, refetch } = useQuery(board(filtering.filter, lanes));
  const isEmpty = data?.columns.every((column) => column.count === 0) ?? false;
  return (
    <Page
      title={say("Board")}
      filling
      twin={{ command: asCommand(filtering.filter, lanes), path: asPath(filtering.filter, lanes) }}
      actions={
        <>
          <LaneChoice
            chosen={lanes}
            onChoose={(wanted) =>
              setParams((before) => {
                const after = new URLSearchParams(before);
                if (wanted === undefined) after.delete("lanes");
                else after.set("lanes", wanted);
                return after;
              })
            }
          />
          <SavedViews page="board" />
        </>
      }
    >
      <ViewerNote />
      <details className="board-filter" open={filtering.isNarrow || undefined}>
        <summary>{say("Filter")}</summary>
        <FilterFields fields={FIELDS} filtering={filtering} />
      </details>
      {data === undefined &&
        (error === null ? <Loading rows={8} /> : <Broken error={error} retry={() => void refetch()} />)}
      {isEmpty && !filtering.isNarrow && (
        <Empty
          icon={SquareKanban}
          title={say("Nothing on the board")}
          command="taskyard enqueue code --prompt 'Fix the build'"
        >
          {say("What waits, runs and was done in the last 24 hours stands here.")}
        </Empty>
      )}
      {data !== undefined && (!isEmpty || filtering.isNarrow) && (
        <Cards answer={data} lanes={lanes} filter={filtering.filter} />
      )}
    </Page>
  );
}

function LaneChoice({ chosen, onChoose }: { chosen: Lanes | undefined; onChoose: (lanes: Lanes | undefined) => void }) {
  return (
    <div className="segments" role="group" aria-label={say("Lanes")}>
      <button type="button" aria-pressed={chosen === undefined} onClick={() => onChoose(undefined)}>
        {say("No lanes")}
      </button>
      {LANES.map((each) => (
        <button key={each} type="button" aria-pressed={chosen === each} onClick={() => onChoose(each)}>
          {LANE_WORDS[each].label}
        </button>
      ))}
    </div>
  );
}

interface CardsProps {
  answer: BoardAnswer;
  lanes: Lanes | undefined;
  filter: BoardFilter;
}

function Cards({ answer, lanes, filter }: CardsProps) {
  const client = useQueryClient();
  const tell = useToast();
  const { may } = useMay("steer");
  const key = board(filter, lanes).queryKey;
  const [kept, setKept] = useState(answer);

  const cellOf = useCallback(
    (card: BoardCard) => {
      const column = answer.columns.find(({ cards }) => cards.some(({ task }) => task.id === card.task.id));
      const cards = column?.cards.filter(({ lane }) => lane === card.lane) ?? [];
      return { cell: { column: column?.name ?? "", lane: card.lane }, cards };
    },
    [answer],
  );

  const onDrop = useCallback(
    async (lifted: Lifted, move: Move) => {
      const { id } = lifted.card.task;
      if (move.kind === "refused") tell("bad", move.why);
      if (move.kind !== "moved") return;
      client.setQueryData(key, (before) => before && moved(before, id, move.priority));
      try {
        await setPriority(id, move.priority);
        const why = move.isExact
          ? ""
          : ` ${say("No whole number lies between those of its neighbours: it goes past its equals.")}`;
        tell(
          "good",
          say("“{task}” has priority {priority}.{why} The same from a shell: {command}", {
            task: nameOf(lifted.card.task),
            priority: move.priority,
            why,
            command: `taskyard priority ${id} ${move.priority}`,
          }),
        );
      } catch (error) {
        tell("bad", say("It went back: {error}", { error: wordsOf(error) }));
      }
      await client.invalidateQueries({ queryKey: key });
    },
    [client, key, tell],
  );

  const { lifted, words, pick, press, cancel } = useMoving({ cellOf, onDrop: (...given) => void onDrop(...given) });
  // What is under somebody's hand does not move.
  if (lifted === null && kept !== answer) setKept(answer);
  const shown = lifted === null ? answer : kept;
  useWalk();

  const rows = useMemo(
    () =>
      lanes === undefined ? [{ name: null, counts: null }] : shown.lanes.map(({ name, counts }) => ({ name, counts })),
    [shown, lanes],
  );
  return (
    <>
      {/* It scrolls both ways, and must be reached by keys. */}
      <div
        className={`board-frame${lifted === null ? "" : " moving"}`}
        role="region"
        aria-label={say("Board")}
        tabIndex={0}
      >
        <div className="board">
          <div className="board-columns board-heads">
            {shown.columns.map((column) => (
              <ColumnHead key={column.name} column={column} />
            ))}
          </div>
          {rows.map((lane) => (
            <section key={lane.name ?? ""} className="board-lane" aria-label={laneName(lanes, lane.name)}>
              {lanes !== undefined && (
                <h3 className={lane.name === null ? "quiet" : ""}>
                  <span>{laneName(lanes, lane.name)}</span>
                </h3>
              )}
              <div className="board-columns">
                {shown.columns.map((column) => {
                  const cell = { column: column.name, lane: lane.name };
                  const there = lane.counts === null ? column.count : (lane.counts[column.name] ?? 0);
                  return (
                    <CellView
                      key={column.name}
                      cell={cell}
                      cards={
                        lanes === undefined ? column.cards : column.cards.filter((each) => each.lane === lane.name)
                      }
                      there={there}
                      isMore={column.more}
                      name={`${columnWords(column.name).title}${lanes === undefined ? "" : `, ${laneName(lanes, lane.name)}`}`}
                      list={asList(filter, column.statuses, lanes, lane.name)}
                      isMovable={may && MOVABLE.has(column.name)}
                      lifted={lifted}
                      {...{ pick, press, cancel }}
                    />
                  );
                })}
              </div>
            </section>
          ))}
          {shown.lanes_left_out > 0 && (
            <p className="note tone-info">
              {say(
                "{lanes|# lane with fewer tasks is|# lanes with fewer tasks are} left out. Narrow the board down to see them.",
                { lanes: shown.lanes_left_out },
              )}
            </p>
          )}
        </div>
      </div>
      <div className="sr-only" role="status">
        {words}
      </div>
    </>
  );
}

function moved(before: BoardAnswer, id: string, priority: number): BoardAnswer {
  const columns = before.columns.map((column) =>
    column.cards.some(({ task }) => task.id === id)
      ? {
          ...column,
          cards: inOrder(column.cards.map((each) => (each.task.id === id ? withPriority(each, priority) : each))),
        }
      : column,
  );
  return { ...before, columns };
}

function laneName(lanes: Lanes | undefined, name: string | null): string {
  return name ?? (lanes === undefined ? say("Tasks") : LANE_WORDS[lanes].none);
}

function ColumnHead({ column }: { column: BoardColumn }) {
  const { title, about } = columnWords(column.name);
  return (
    <h2 title={about}>
      <span className="clip">{title}</span>
      <b>
        {count(column.count)}
        {column.more && "+"}
      </b>
    </h2>
  );
}

interface CellProps {
  cell: Cell;
  cards: readonly BoardCard[];
  there: number;
  isMore: boolean;
  name: string;
  list: string;
  isMovable: boolean;
  lifted: Lifted | null;
  pick: React.ComponentProps<typeof BoardCardView>["onPointerDown"];
  press: React.ComponentProps<typeof BoardCardView>["onKeyDown"];
  cancel: () => void;
}

function CellView({ cell, cards, there, isMore, name, list, isMovable, lifted, pick, press, cancel }: CellProps) {
  const isOver = lifted !== null && sameCell(lifted.over, cell);
  const left = there - cards.length;
  const id = lifted?.card.task.id;
  const others = cards.filter(({ task }) => task.id !== id);
  return (
    <div className={`board-cell${isOver ? " over" : ""}`} data-column={cell.column} data-lane={cell.lane ?? undefined}>
      <ul aria-label={name}>
        {cards.map((card) => (
          <FollowedCard key={card.task.id} isNext={isOver && others[lifted.to] === card} lifted={lifted}>
            <BoardCardView
              card={card}
              isMovable={isMovable}
              isLifted={id === card.task.id}
              onPointerDown={pick}
              onKeyDown={press}
              onLeave={cancel}
            />
          </FollowedCard>
        ))}
        {isOver && lifted.to >= others.length && <DropLine lifted={lifted} />}
      </ul>
      {(left > 0 || (isMore && cell.lane === null)) && (
        <Link className="board-more" to={list}>
          {left > 0 ? say("{number} more", { number: count(left) + (isMore ? "+" : "") }) : say("All of them")}
        </Link>
      )}
    </div>
  );
}

/** A card, and before it the place where what is moved would go. */
function FollowedCard({
  isNext,
  lifted,
  children,
}: {
  isNext: boolean;
  lifted: Lifted | null;
  children: React.ReactNode;
}) {
  return (
    <>
      {isNext && lifted !== null && <DropLine lifted={lifted} />}
      {children}
    </>
  );
}

function DropLine({ lifted }: { lifted: Lifted }) {
  const move = moveNow(lifted);
  if (move.kind === "same") return null;
  return (
    <li className={`board-drop tone-${move.kind === "moved" ? "accent" : "bad"}`} aria-hidden>
      {move.kind === "moved" ? say("priority {priority}", { priority: move.priority }) : say("not here")}
    </li>
  );
}

/** Walk from card to card by keys, and pick one up. */
function useWalk() {
  const walk = (step: number) => {
    const cards = [...document.querySelectorAll<HTMLElement>(".board-card-name")];
    const at = cards.findIndex((each) => each.closest(".board-card")?.contains(document.activeElement));
    cards[Math.min(Math.max(at + step, 0), cards.length - 1)]?.focus();
  };
  useShortcut("j", say("Next card"), () => walk(1));
  useShortcut("k", say("Card before"), () => walk(-1));
  useShortcut("m", say("Move the card with the focus: arrows, then Enter"), () => {
    const handle = document.activeElement?.closest(".board-card")?.querySelector<HTMLElement>(".board-handle");
    handle?.focus();
    handle?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  });
}
