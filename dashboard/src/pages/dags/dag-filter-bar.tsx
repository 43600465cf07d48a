import { ListFilter } from "lucide-react";
import { useId, useState } from "react";

import { say } from "@/language/say";
import { SavedViews } from "@/parts/saved-views";
import { SearchBox } from "@/parts/search-box";
import { lookOf } from "@/parts/status";
import { SuggestingInput } from "@/parts/suggesting-input";
import { TimeRange } from "@/parts/time-range";

import type { DagFiltering } from "./dag-filter";

import "./dags.css";

const STATUSES = ["running", "completed", "failed", "cancelled"];

export function DagFilterBar({ filter, isNarrow, set, clear }: DagFiltering) {
  const [open, setOpen] = useState(false);
  const id = useId();
  return (
    <search className="dags-filter">
      <div className="dags-filter-line">
        <SearchBox label={say("Search titles and ids")} value={filter.q ?? ""} onSearch={(q) => set({ q })} />
        <div className="segments" role="group" aria-label={say("Status")}>
          {STATUSES.map((status) => (
            <button
              key={status}
              type="button"
              aria-pressed={filter.status.includes(status)}
              onClick={() =>
                set({
                  status: filter.status.includes(status)
                    ? filter.status.filter((each) => each !== status)
                    : [...filter.status, status],
                })
              }
            >
              {lookOf(status).word}
            </button>
          ))}
        </div>
        <button
          type="button"
          className="button"
          aria-expanded={open}
          aria-controls={`${id}-panel`}
          onClick={() => setOpen(!open)}
        >
          <ListFilter aria-hidden /> {say("Filter")}
        </button>
        <SavedViews page="dags" />
        {isNarrow && (
          <button type="button" className="button plain small" onClick={clear}>
            {say("Clear")}
          </button>
        )}
      </div>
      <div id={`${id}-panel`} className="dags-filter-panel" hidden={!open}>
        <div className="field">
          <label htmlFor={`${id}-tag`}>{say("Tag")}</label>
          <SuggestingInput id={`${id}-tag`} field="tag" value={filter.tag ?? ""} onDone={(tag) => set({ tag })} />
        </div>
        <div className="field">
          <label htmlFor={`${id}-by`}>{say("Put in by")}</label>
          <input
            id={`${id}-by`}
            key={filter.created_by}
            defaultValue={filter.created_by}
            placeholder="human:ada"
            onKeyDown={(event) => {
              if (event.key === "Enter") event.currentTarget.blur();
            }}
            onBlur={(event) => {
              if (event.target.value !== (filter.created_by ?? "")) set({ created_by: event.target.value.trim() });
            }}
          />
        </div>
        <TimeRange since={filter.since} until={filter.until} onChange={(range) => set({ ...range })} />
      </div>
    </search>
  );
}
