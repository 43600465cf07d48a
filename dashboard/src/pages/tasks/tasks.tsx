import { Plus } from "lucide-react";
import { useCallback, useState } from "react";
import { Link } from "react-router";

import { AgainLike } from "@/actions/again";

import type { TaskRow } from "@/api/tasks";
import { say } from "@/language/say";
import { quoted } from "@/parts/copy";

import { Page } from "@/parts/page";

import { BulkActions } from "./bulk";
import { asOptions, asQuery, useFilter } from "./filter";
import { FilterBar, SortNote, StatusTabs } from "./filter-bar";
import { TaskList } from "./list";

import "./tasks.css";

export default function Tasks() {
  const filtering = useFilter();
  const { filter, sort, columns, isNarrow } = filtering;
  const [selected, setSelected] = useState<ReadonlyMap<string, TaskRow>>(new Map());

  // The same function for as long as the page stands: rows are drawn again only when something about them changes.
  const select = useCallback((task: TaskRow) => {
    setSelected((before) => {
      const after = new Map(before);
      if (!after.delete(task.id)) after.set(task.id, task);
      return after;
    });
  }, []);

  return (
    <Page
      title={say("Tasks")}
      filling
      twin={{
        command: ["taskyard", "ls", ...asOptions(filter, sort).map(quoted)].join(" "),
        path: `/api/tasks?${asQuery(filter, sort)}`,
      }}
      actions={
        <>
          <Link to="/tasks/new" className="button">
            <Plus aria-hidden /> {say("New task")}
          </Link>
          <div className="tasks-bulk" role="group" aria-label={say("Act on many tasks")}>
            {selected.size > 0 ? (
              <button type="button" className="button small plain" onClick={() => setSelected(new Map())}>
                {say("{tasks|# task|# tasks} selected: clear", { tasks: selected.size })}
              </button>
            ) : (
              <span className="quiet">{say("Everything that matches:")}</span>
            )}
            <BulkActions filter={filter} selected={[...selected.values()]} onDone={() => setSelected(new Map())} />
            {selected.size === 1 && <AgainLike id={[...selected.keys()][0] ?? ""} small />}
          </div>
        </>
      }
    >
      <StatusTabs {...filtering} />
      <FilterBar {...filtering} />
      <SortNote {...filtering} />
      <TaskList
        {...{ filter, sort, columns, isNarrow, selected }}
        onSelect={select}
        onSort={(order) => filtering.set("sort", [order])}
      />
    </Page>
  );
}
