/** The list of tasks as it stands in the page's address: which tasks, in which order, with which columns. */
import { useMemo } from "react";
import { useSearchParams } from "react-router";

import { SORTS, type Sort } from "@/api/sorts";
import type { TaskFilter } from "@/api/tasks";

import { COLUMNS, USUAL, type Column } from "./columns";

export const FIELDS = ["type", "queue", "agent", "subject", "tag", "reason", "dag", "parent"] as const;
export type Field = (typeof FIELDS)[number];
const ONE_VALUE = ["queue", "agent", "subject", "tag", "reason", "dag", "parent", "q", "since", "until"] as const;

export function filterOf(params: URLSearchParams): TaskFilter {
  const filter: TaskFilter = { status: params.getAll("status"), type: params.getAll("type") };
  for (const name of ONE_VALUE) {
    const value = params.get(name);
    if (value !== null && value !== "") filter[name] = value;
  }
  return filter;
}

function sortOf(params: URLSearchParams): Sort {
  return SORTS.find((each) => each === params.get("sort")) ?? "newest";
}

/** Those that are chosen, in the order of the list; the usual ones where nothing is. */
export function columnsOf(params: URLSearchParams): Column[] {
  const named = params.get("columns");
  if (named === null) return [...USUAL];
  const wanted = new Set(named.split("."));
  return COLUMNS.map(({ name }) => name).filter((name) => wanted.has(name));
}

export interface Filtering {
  filter: TaskFilter;
  sort: Sort;
  columns: Column[];
  /** Whether anything but a status narrows the list down. */
  isNarrow: boolean;
  set: (name: string, values: readonly string[]) => void;
  setAll: (values: Record<string, string | undefined>) => void;
  clear: () => void;
}

export function useFilter(): Filtering {
  const [params, setParams] = useSearchParams();
  return useMemo(() => {
    const filter = filterOf(params);
    return {
      filter,
      sort: sortOf(params),
      columns: columnsOf(params),
      isNarrow: filter.type.length > 0 || ONE_VALUE.some((name) => filter[name] !== undefined),
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
      setAll(values) {
        setParams((before) => {
          const after = new URLSearchParams(before);
          for (const [name, value] of Object.entries(values)) {
            if (value === undefined) after.delete(name);
            else after.set(name, value);
          }
          return after;
        });
      },
      clear: () =>
        setParams((before) => {
          const after = new URLSearchParams();
          for (const name of ["sort", "columns"]) if (before.has(name)) after.set(name, before.get(name) ?? "");
          return after;
        }),
    };
  }, [params, setParams]);
}

/** The same list as options of `taskyard ls`. */
export function asOptions(filter: TaskFilter, sort: Sort = "newest"): string[] {
  return [
    ...filter.status.flatMap((each) => ["--status", each]),
    ...filter.type.flatMap((each) => ["--type", each]),
    ...(["agent", "subject", "dag", "tag", "queue", "parent", "reason", "since", "until"] as const).flatMap((name) => {
      const value = filter[name];
      return value === undefined ? [] : [`--${name}`, value];
    }),
    ...(filter.q === undefined ? [] : ["--text", filter.q]),
    ...(sort === "newest" ? [] : ["--sort", sort]),
  ];
}

/** The same list as the query of the call. */
export function asQuery(filter: TaskFilter, sort: Sort): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter) as [string, string | string[]][])
    for (const each of [value].flat()) query.append(name, each);
  if (sort !== "newest") query.set("sort", sort);
  query.set("short", "true");
  return query.toString();
}
