/** The filter of the task list, as it stands in the page's address. */
import { useMemo } from "react";
import { useSearchParams } from "react-router";

import type { TaskFilter } from "@/api/tasks";

export const FIELDS = ["type", "queue", "agent", "subject", "tag", "dag", "parent"] as const;
export type Field = (typeof FIELDS)[number];

export function filterOf(params: URLSearchParams): TaskFilter {
  const filter: TaskFilter = { status: params.getAll("status"), type: params.getAll("type") };
  for (const name of ["queue", "agent", "subject", "tag", "dag", "parent", "q"] as const) {
    const value = params.get(name);
    if (value !== null && value !== "") filter[name] = value;
  }
  return filter;
}

export interface Filtering {
  filter: TaskFilter;
  /** Whether anything but a status narrows the list down. */
  isNarrow: boolean;
  set: (name: string, values: readonly string[]) => void;
  clear: () => void;
}

export function useFilter(): Filtering {
  const [params, setParams] = useSearchParams();
  return useMemo(() => {
    const filter = filterOf(params);
    return {
      filter,
      isNarrow: filter.q !== undefined || FIELDS.some((name) => (filter[name]?.length ?? 0) > 0),
      set(name, values) {
        setParams(
          (before) => {
            const after = new URLSearchParams(before);
            after.delete(name);
            values.filter((value) => value !== "").forEach((value) => after.append(name, value));
            return after;
          },
          { replace: name === "q" },
        );
      },
      clear: () => setParams({}),
    };
  }, [params, setParams]);
}

/** The same filter as options of `taskyard ls`. */
export function asOptions(filter: TaskFilter): string[] {
  return [
    ...filter.status.flatMap((each) => ["--status", each]),
    ...filter.type.flatMap((each) => ["--type", each]),
    ...(["agent", "subject", "dag", "tag"] as const).flatMap((name) => {
      const value = filter[name];
      return value === undefined ? [] : [`--${name}`, value];
    }),
    ...(filter.q === undefined ? [] : ["--text", filter.q]),
  ];
}
