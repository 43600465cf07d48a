import { useQuery } from "@tanstack/react-query";
import { ListFilter, Search, X } from "lucide-react";
import { useEffect, useId, useState, type ReactNode } from "react";

import { overview } from "@/api/overview";
import { taskCounts } from "@/api/tasks";
import { count, inShort } from "@/parts/format";
import { lookOf, STATUSES } from "@/parts/status";

import { FIELDS, type Field, type Filtering } from "./filter";

const PATIENCE = 250; // milliseconds after the last key until the search is made

const WORDS: Record<Field, { label: string; hint: string }> = {
  type: { label: "Type", hint: "code" },
  queue: { label: "Queue", hint: "default" },
  agent: { label: "Agent", hint: "held by, or addressed to" },
  subject: { label: "Subject", hint: "issue:42" },
  tag: { label: "Tag", hint: "nightly" },
  dag: { label: "DAG", hint: "dag_…" },
  parent: { label: "Spawned by", hint: "task_…" },
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
    <div className="tasks-statuses" role="group" aria-label="Status">
      <Tab isChosen={chosen.size === 0} number={sum} more={more} onClick={() => set("status", [])}>
        All
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
  const { filter, isNarrow, set, clear } = filtering;
  const [open, setOpen] = useState(false);
  const panel = useId();
  const given = FIELDS.flatMap((name) => [filter[name] ?? []].flat().map((value) => ({ name, value })));
  return (
    <search className="tasks-filter">
      <div className="tasks-filter-line">
        <SearchBox value={filter.q ?? ""} onSearch={(text) => set("q", [text])} />
        <button
          type="button"
          className="button"
          aria-expanded={open}
          aria-controls={panel}
          onClick={() => setOpen(!open)}
        >
          <ListFilter aria-hidden /> Filter
        </button>
        {given.map(({ name, value }) => (
          <span key={name + value} className="chip tasks-given">
            <span className="quiet">{WORDS[name].label}</span> <span className="clip">{value}</span>
            <button
              type="button"
              className="copy"
              aria-label={`No longer only ${WORDS[name].label} ${value}`}
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
        {(isNarrow || filter.status.length > 0) && (
          <button type="button" className="button plain small" onClick={clear}>
            Clear
          </button>
        )}
      </div>
      <div id={panel} className="tasks-filter-panel" hidden={!open}>
        {FIELDS.map((name) => (
          <FilterField key={name} name={name} value={[filter[name] ?? []].flat().join(" ")} onChange={set} />
        ))}
      </div>
    </search>
  );
}

/** The address changes when the writing stops. */
function SearchBox({ value, onSearch }: { value: string; onSearch: (text: string) => void }) {
  const [text, setText] = useState(value);
  const [before, setBefore] = useState(value);
  if (before !== value) {
    setBefore(value);
    setText(value);
  }
  useEffect(() => {
    if (text === value) return;
    const timer = window.setTimeout(() => onSearch(text), PATIENCE);
    return () => window.clearTimeout(timer);
  }, [text, value, onSearch]);
  return (
    <div className="tasks-search">
      <Search aria-hidden />
      <input
        type="search"
        aria-label="Search titles, prompts and payloads"
        placeholder="Search titles, prompts and payloads"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </div>
  );
}

interface FilterFieldProps {
  name: Field;
  value: string;
  onChange: (name: string, values: readonly string[]) => void;
}

function FilterField({ name, value, onChange }: FilterFieldProps) {
  const field = useId();
  const known = useKnown(name);
  return (
    <div className="field">
      <label htmlFor={field}>{WORDS[name].label}</label>
      <input
        id={field}
        key={value}
        defaultValue={value}
        placeholder={WORDS[name].hint}
        list={known.length > 0 ? `${field}-known` : undefined}
        onKeyDown={(event) => {
          if (event.key === "Enter") event.currentTarget.blur();
        }}
        onBlur={(event) => {
          const given = event.target.value.trim();
          if (given !== value) onChange(name, name === "type" ? given.split(/\s+/) : [given]);
        }}
      />
      {known.length > 0 && (
        <datalist id={`${field}-known`}>
          {known.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </div>
  );
}

/** What may be meant, where that is known without asking. */
function useKnown(name: Field): string[] {
  const { data } = useQuery(overview);
  if (name !== "type" || data === undefined) return [];
  return [...new Set(Object.values(data.tasks).flatMap((types) => Object.keys(types)))].sort();
}
