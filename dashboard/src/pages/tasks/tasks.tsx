import { useCallback, useState } from "react";

import type { TaskRow } from "@/api/tasks";
import { plural } from "@/parts/format";
import { Page } from "@/parts/page";

import { BulkActions } from "./bulk";
import { useFilter } from "./filter";
import { FilterBar, StatusTabs } from "./filter-bar";
import { TaskList } from "./list";

import "./tasks.css";

export default function Tasks() {
  const filtering = useFilter();
  const { filter, isNarrow } = filtering;
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
      title="Tasks"
      filling
      actions={
        <div className="tasks-bulk" role="group" aria-label="Act on many tasks">
          {selected.size > 0 ? (
            <button type="button" className="button small plain" onClick={() => setSelected(new Map())}>
              {plural(selected.size, "task")} selected: clear
            </button>
          ) : (
            <span className="quiet">Everything that matches:</span>
          )}
          <BulkActions filter={filter} selected={[...selected.values()]} onDone={() => setSelected(new Map())} />
        </div>
      }
    >
      <StatusTabs {...filtering} />
      <FilterBar {...filtering} />
      <TaskList {...{ filter, isNarrow, selected }} onSelect={select} />
    </Page>
  );
}
