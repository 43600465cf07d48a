import { useQuery } from "@tanstack/react-query";
import { ListFilter, X } from "lucide-react";
import { useId, useState, type ReactNode } from "react";

import { overview } from "@/api/overview";
import { SORTED, SORTS, type Sort } from "@/api/sorts";
import { taskCounts } from "@/api/tasks";
import { say } from "@/language/say";
import { count, dayAndClock, inShort } from "@/parts/format";
import { SavedViews } from "@/parts/saved-views";
import { SearchBox } from "@/parts/search-box";
import { lookOf, STATUSES } from "@/parts/status";
import { SuggestingInput } from "@/parts/suggesting-input";
import { TimeRange } from "@/parts/time-range";

import { COLUMNS, USUAL, type Column } from "./columns";
import { FIELDS, type Field, type Filtering } from "./filter";

const WORDS: Record<Field, { label: string; hint: string }> = {
  type: { label: say("Type"), hint: "code" },
  queue: { label: say("Queue"), hint: "default" },
  agent: { label: say("Agent"), hint: say("held by, or addressed to") },
  subject: { label: say("Subject"), hint: "issue:42" },
  tag: { label: say("Tag"), hint: "nightly" },
  reason: { label: say("Failed for"), hint: "timeout" },
  dag: { label: "DAG", hint: "dag_…" },
  parent: { label: say("Spawned by"), hint: "task_…" },
};

const ORDERS: Record<Sort, string> = {
  newest: say("Newest first"),
  oldest: say("Oldest first"),
  updated: say("Last changed first"),
  priority: say("Most urgent first"),
  failures: say("Most failed first"),
  cost: say("Dearest first"),
  took: say("Longest first"),
};

/** Tasks by status: how many there are, and which are shown. */
export function StatusTabs({ filter, isNarrow, set }: Filtering) {
  const all = useQuery(overview);
  const counted = useQuery({ ...taskCounts(filter), enabled: isNarrow });
  const counts = isNarrow ? counted.data?.counts : totals(all.data?.tasks);
  const more = isNarrow && counted.data?.more === true;
  const sum = counts && Object.values(counts).reduce((a, b) => a + b, 0);
  const chosen = new Set(filter.status);

  function toggle(status: string) {
    const rest = filter.status.filter((each) => each !== status);
    set("status", rest.length < filter.status.length ? rest : [...filter.status, status]);
  }

  return (
    <div className="tasks-statuses" role="group" aria-label={say("Status")}>
      <Tab isChosen={chosen.size === 0} number={sum} more={more} onClick={() => set("status", [])}>
        {say("All")}
      </Tab>
      {STATUSES.map((status) => (
        <Tab
          key={status}
          tone={lookOf(status).tone}
          isChosen={chosen.has(status)}
          number={counts && (counts[status] ?? 0)}
          more={more}
          onClick={() => toggle(status)}
        >
          {lookOf(status).word}
        </Tab>
      ))}
    </div>
  );
}

function totals(tasks: Record<string, Record<string, number>> | undefined): Record<string, number> | undefined {
  if (tasks === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(tasks).map(([status, types]) => [status, Object.values(types).reduce((a, b) => a + b, 0)]),
  );
}

interface TabProps {
  isChosen: boolean;
  number: number | undefined;
  more: boolean;
  tone?: string;
  onClick: () => void;
  children: ReactNode;
}

function Tab({ isChosen, number, more, tone, onClick, children }: TabProps) {
  return (
    <button type="button" aria-pressed={isChosen} onClick={onClick}>
      {tone !== undefined && <i className={`tone-${tone}`} aria-hidden />}
      <span>{children}</span>
      <b title={number === undefined ? "" : count(number)}>
        {number === undefined ? "·" : inShort(number)}
        {more && number !== undefined && number > 0 && "+"}
      </b>
    </button>
  );
}

export function FilterBar(filtering: Filtering) {
  const { filter, sort, columns, isNarrow, set, setAll, clear } = filtering;
  const [open, setOpen] = useState(false);
  const panel = useId();
  const given = FIELDS.flatMap((name) => [filter[name] ?? []].flat().map((value) => ({ name, value })));
  return (
    <search className="tasks-filter">
      <div className="tasks-filter-line">
        <SearchBox
          label={say("Search titles, prompts and payloads")}
          value={filter.q ?? ""}
          onSearch={(text) => set("q", [text])}
        />
        <button
          type="button"
          className="button"
          aria-expanded={open}
          aria-controls={panel}
          onClick={() => setOpen(!open)}
        >
          <ListFilter aria-hidden /> {say("Filter")}
        </button>
        {given.map(({ name, value }) => (
          <span key={name + value} className="chip tasks-given">
            <span className="quiet">{WORDS[name].label}</span> <span className="clip">{value}</span>
            <button
              type="button"
              className="copy"
              aria-label={say("No longer only {label} {value}", { label: WORDS[name].label, value })}
              onClick={() =>
                set(
                  name,
                  [filter[name] ?? []].flat().filter((each) => each !== value),
                )
              }
            >
              <X aria-hidden />
            </button>
          </span>
        ))}
        <GivenTimes filter={filter} setAll={setAll} />
        <label className="tasks-order">
          <span className="sr-only">{say("Sorted by")}</span>
          <select value={sort} onChange={(event) => set("sort", [event.target.value])}>
            {SORTS.map((each) => (
              <option key={each} value={each}>
                {ORDERS[each]}
              </option>
            ))}
          </select>
        </label>
        <SavedViews page="tasks" />
        {(isNarrow || filter.status.length > 0) && (
          <button type="button" className="button plain small" onClick={clear}>
            {say("Clear")}
          </button>
        )}
      </div>
      <div id={panel} className="tasks-filter-panel" hidden={!open}>
        {FIELDS.map((name) => (
          <FilterField key={name} name={name} value={[filter[name] ?? []].flat().join(" ")} onChange={set} />
        ))}
        <TimeRange since={filter.since} until={filter.until} onChange={(range) => setAll({ ...range })} />
        <ColumnChoice columns={columns} setAll={setAll} />
      </div>
    </search>
  );
}

function GivenTimes({ filter, setAll }: Pick<Filtering, "filter" | "setAll">) {
  return (["since", "until"] as const).map((name) => {
    const at = filter[name];
    if (at === undefined) return null;
    return (
      <span key={name} className="chip tasks-given">
        <span className="quiet">{name}</span> <span className="clip">{dayAndClock(at)}</span>
        <button
          type="button"
          className="copy"
          aria-label={say("No longer only {name} {at}", { name, at: dayAndClock(at) })}
          onClick={() => setAll({ [name]: undefined })}
        >
          <X aria-hidden />
        </button>
      </span>
    );
  });
}

interface FilterFieldProps {
  name: Field;
  value: string;
  onChange: (name: string, values: readonly string[]) => void;
}

function FilterField({ name, value, onChange }: FilterFieldProps) {
  const field = useId();
  const done = (given: string) => onChange(name, name === "type" ? given.split(/\s+/) : [given]);
  return (
    <div className="field">
      <label htmlFor={field}>{WORDS[name].label}</label>
      {name === "dag" || name === "parent" ? (
        <input
          id={field}
          key={value}
          defaultValue={value}
          placeholder={WORDS[name].hint}
          onKeyDown={(event) => {
            if (event.key === "Enter") event.currentTarget.blur();
          }}
          onBlur={(event) => {
            const given = event.target.value.trim();
            if (given !== value) done(given);
          }}
        />
      ) : (
        <SuggestingInput
          id={field}
          field={name}
          value={value}
          placeholder={WORDS[name].hint}
          several={name === "type"}
          onDone={done}
        />
      )}
    </div>
  );
}

/** Which columns the list has. */
function ColumnChoice({ columns, setAll }: Pick<Filtering, "columns" | "setAll">) {
  const choose = (after: readonly Column[]) =>
    setAll({ columns: after.join(".") === USUAL.join(".") ? undefined : after.join(".") });
  return (
    <fieldset className="tasks-columns">
      <legend>{say("Columns")}</legend>
      {COLUMNS.map(({ name, label }) => (
        <label key={name} className="check">
          <input
            type="checkbox"
            checked={columns.includes(name)}
            onChange={(event) =>
              choose(
                COLUMNS.map((each) => each.name).filter((each) =>
                  each === name ? event.target.checked : columns.includes(each),
                ),
              )
            }
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}

/** What is said where the order is not that of the whole list. */
export function SortNote({ sort, filter, isNarrow }: Filtering) {
  const all = useQuery(overview);
  const counted = useQuery({ ...taskCounts(filter), enabled: isNarrow });
  const counts = isNarrow ? counted.data?.counts : totals(all.data?.tasks);
  const chosen = Object.entries(counts ?? {}).filter(
    ([status]) => filter.status.length === 0 || filter.status.includes(status),
  );
  const sum = chosen.reduce((before, [, number]) => before + number, 0);
  if (sort === "newest" || sort === "oldest" || sum <= SORTED) return null;
  return (
    <p className="note tone-info">
      {say("The newest {sorted} of {all} tasks are sorted. Narrow the list down to sort all of it.", {
        sorted: SORTED,
        all: sum,
      })}
    </p>
  );
}
