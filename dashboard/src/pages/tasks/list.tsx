import { ArrowDown, ArrowUp, ListTodo } from "lucide-react";
import { memo, useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { Link, useNavigate } from "react-router";

import { nameOf } from "@/actions/subject";
import type { Sort } from "@/api/sorts";
import type { TaskFilter, TaskRow } from "@/api/tasks";
import { say } from "@/language/say";
import { Broken, Empty, Loading } from "@/parts/empty";
import { useMedia } from "@/parts/media";
import { ProgressBar, progressOf } from "@/parts/progress";
import { StatusBadge } from "@/parts/status";
import { Ago } from "@/parts/time";
import { useWindow } from "@/parts/window";
import { useShortcut } from "@/shell/shortcuts";

import { gridOf, looksOf, type Column, type Look } from "./columns";
import { useRows } from "./rows";

const ROW = 38;
const HEAD = 33;
const TALL_ROW = 66; // two lines, where there is no room for columns
const AHEAD = 60; // rows before the end at which the next page is asked for

/** How the list is called: by its order. */
const NAMES: Record<Sort, string> = {
  newest: say("Tasks, newest first"),
  oldest: say("Tasks, oldest first"),
  updated: say("Tasks, last changed first"),
  priority: say("Tasks, most urgent first"),
  failures: say("Tasks, most failed first"),
  cost: say("Tasks, dearest first"),
  took: say("Tasks, longest first"),
};

interface ListProps {
  filter: TaskFilter;
  sort: Sort;
  columns: readonly Column[];
  onSort: (sort: Sort) => void;
  isNarrow: boolean;
  selected: ReadonlyMap<string, TaskRow>;
  onSelect: (task: TaskRow) => void;
}

/** Any number of tasks: only those in sight are on the page, and those below come as they are scrolled to. */
export function TaskList({ filter, sort, columns, onSort, isNarrow, selected, onSelect }: ListProps) {
  const scroll = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const id = useId();
  const isNarrowScreen = useMedia("(max-width: 60rem)");
  const [current, setCurrent] = useState<string | null>(null); // the task that keys act on, wherever it moves
  const chosen = columns.join(".");
  // The same for as long as the columns are: rows are drawn again only when something about them changes.
  const looks = useMemo(() => looksOf(chosen.split(".") as Column[]), [chosen]);
  const grid = useMemo(() => gridOf(looks), [looks]);
  const list = useRows(filter, sort, () => (scroll.current?.scrollTop ?? 0) < ROW);
  const { rows, more } = list;
  const active = useMemo(() => rows.findIndex((task) => task.id === current), [rows, current]);
  const height = isNarrowScreen ? TALL_ROW : ROW;
  const { first, end, slots, show } = useWindow(scroll, rows.length, height, isNarrowScreen ? 0 : HEAD);
  const key = JSON.stringify([filter, sort]);
  // Another list begins at its top.
  useEffect(() => {
    scroll.current?.scrollTo(0, 0);
  }, [key]);
  useEffect(() => {
    if (rows.length > 0 && end >= rows.length - AHEAD) more();
  }, [end, rows.length, more]);

  function go(to: number) {
    const index = Math.min(Math.max(to, 0), rows.length - 1);
    setCurrent(rows[index]?.id ?? null);
    show(index);
  }
  function open() {
    const task = rows[active];
    if (task !== undefined) void navigate(`/tasks/${task.id}`);
  }
  function select() {
    const task = rows[active];
    if (task !== undefined) onSelect(task);
  }
  useShortcut("j", say("Next task"), () => go(active + 1));
  useShortcut("k", say("Previous task"), () => go(active - 1));
  useShortcut("o", say("Open the task"), open);
  useShortcut("x", say("Select the task"), select);

  function pressed(event: KeyboardEvent) {
    const page = Math.floor((scroll.current?.clientHeight ?? height) / height);
    const moves: Record<string, () => void> = {
      ArrowDown: () => go(active + 1),
      ArrowUp: () => go(active - 1),
      PageDown: () => go(active + page),
      PageUp: () => go(active - page),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      Enter: open,
      " ": select,
    };
    const move = moves[event.key];
    if (move === undefined || event.target !== event.currentTarget) return;
    event.preventDefault();
    move();
  }

  if (list.error !== null && rows.length === 0) return <Broken error={list.error} retry={list.refresh} />;
  if (list.isPending) return <Loading rows={8} />;
  if (rows.length === 0) return <Nothing isFiltered={isNarrow || filter.status.length > 0} />;
  return (
    <div className={`tasks-list${list.isOld ? " old" : ""}`} aria-busy={list.isOld}>
      {list.missing !== null && (
        <button
          type="button"
          className="button primary small tasks-fresh"
          onClick={() => {
            list.refresh();
            scroll.current?.scrollTo(0, 0);
          }}
        >
          <ArrowUp aria-hidden /> {say("{missing}: show", { missing: list.missing })}
        </button>
      )}
      <div
        ref={scroll}
        className="tasks-scroll"
        role="grid"
        aria-label={NAMES[sort]}
        aria-rowcount={-1}
        aria-multiselectable
        tabIndex={0}
        aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
        onKeyDown={pressed}
        onFocus={(event) => {
          if (event.target === event.currentTarget && active < 0) setCurrent(rows[0]?.id ?? null);
        }}
      >
        <div role="rowgroup" className="tasks-head">
          <div role="row" className="tasks-row" style={{ gridTemplateColumns: grid }}>
            <span role="columnheader">
              <span className="sr-only">{say("Selected")}</span>
            </span>
            <span role="columnheader">{say("Status")}</span>
            <span role="columnheader">{say("Task")}</span>
            {looks.map((look) => (
              <Head key={look.name} look={look} sort={sort} onSort={onSort} />
            ))}
          </div>
        </div>
        <div role="rowgroup" className="tasks-body" style={{ height: rows.length * height }}>
          {rows.slice(first, end).map((task, place) => {
            const index = first + place;
            return (
              <Row
                // A row that leaves the window is the one that enters it: changing what it says is cheaper than a new one.
                key={index % slots}
                id={`${id}-${index}`}
                index={index}
                height={height}
                task={task}
                looks={looks}
                grid={grid}
                isNarrow={isNarrowScreen}
                isActive={index === active}
                isSelected={selected.has(task.id)}
                onSelect={onSelect}
              />
            );
          })}
        </div>
        {list.isLoadingMore && <p className="tasks-more quiet">{say("More…")}</p>}
      </div>
    </div>
  );
}

interface RowProps {
  id: string;
  index: number;
  height: number;
  task: TaskRow;
  looks: readonly Look[];
  grid: string;
  isNarrow: boolean;
  isActive: boolean;
  isSelected: boolean;
  onSelect: (task: TaskRow) => void;
}

interface HeadProps {
  look: Look;
  sort: Sort;
  onSort: (sort: Sort) => void;
}

/** The name of a column; a press sorts by it, where there is an order for it. */
function Head({ look, sort, onSort }: HeadProps) {
  const orders = look.sort ?? [];
  const place = orders.indexOf(sort);
  const next = orders[(place + 1) % orders.length];
  const order = place < 0 ? undefined : sort === "oldest" || sort === "priority" ? "ascending" : "descending";
  const Arrow = order === "ascending" ? ArrowUp : ArrowDown;
  return (
    <span
      role="columnheader"
      className={look.isNumber ? "number" : ""}
      {...(order !== undefined && { "aria-sort": order })}
    >
      {next === undefined ? (
        look.label
      ) : (
        <button
          type="button"
          className="tasks-sort"
          aria-label={say("Sort by {label}", { label: look.label })}
          tabIndex={-1}
          onClick={() => onSort(place >= 0 && orders.length === 1 ? "newest" : next)}
        >
          {look.label}
          {order !== undefined && <Arrow aria-hidden />}
        </button>
      )}
    </span>
  );
}

const Row = memo(function Row(props: RowProps) {
  const { id, index, height, task, looks, grid, isNarrow, isActive, isSelected, onSelect } = props;
  const progress = task.status === "running" ? progressOf(task.progress) : null;
  const name = nameOf(task);
  return (
    <div
      role="row"
      id={id}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      className={`tasks-row task${isActive ? " active" : ""}`}
      style={{
        height,
        transform: `translateY(${index * height}px)`,
        ...(isNarrow ? {} : { gridTemplateColumns: grid }),
      }}
    >
      <span role="gridcell" className="tasks-check">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={say("Select {name}", { name })}
          checked={isSelected}
          onChange={() => onSelect(task)}
        />
      </span>
      <span role="gridcell" className="tasks-status">
        <StatusBadge status={task.status} />
      </span>
      <span role="gridcell" className="tasks-name">
        <Link to={`/tasks/${task.id}`} tabIndex={-1} className="clip">
          {name}
        </Link>
        {progress?.fraction != null && (
          <ProgressBar fraction={progress.fraction} label={say("Progress of {name}", { name })} />
        )}
        {task.subject !== null && <span className="chip">{task.subject}</span>}
        {task.tags.slice(0, 2).map((tag) => (
          <span key={tag} className="chip tasks-tag">
            {tag}
          </span>
        ))}
      </span>
      {isNarrow ? (
        <>
          <span role="gridcell" className="clip quiet tasks-type">
            {task.type}
          </span>
          <span role="gridcell" className="number quiet tasks-created">
            <Ago at={task.created_at} />
          </span>
        </>
      ) : (
        looks.map((look) => (
          <span key={look.name} role="gridcell" className={`quiet ${look.isNumber ? "number" : "clip"}`}>
            {look.show(task)}
          </span>
        ))
      )}
    </div>
  );
});

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty icon={ListTodo} title={say("No task matches")}>
        {say("Take a filter away, or look for something else.")}
      </Empty>
    );
  }
  return (
    <Empty
      icon={ListTodo}
      title={say("The yard is empty")}
      command={`taskyard enqueue research --prompt "Compare three vendors"`}
    >
      {say("Put the first task in from a shell, a program, or an agent. It appears here at once.")}
    </Empty>
  );
}
