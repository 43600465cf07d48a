/** Which DAGs, as it stands in the page's address. */
import { useMemo } from "react";
import { useSearchParams } from "react-router";

import type { DagFilter } from "@/api/dags";

const ONE_VALUE = ["q", "tag", "created_by", "since", "until"] as const;

function dagFilterOf(params: URLSearchParams): DagFilter {
  const filter: DagFilter = { status: params.getAll("status") };
  for (const name of ONE_VALUE) {
    const value = params.get(name);
    if (value !== null && value !== "") filter[name] = value;
  }
  return filter;
}

export interface DagFiltering {
  filter: DagFilter;
  isNarrow: boolean;
  set: (values: Record<string, string | readonly string[] | undefined>) => void;
  clear: () => void;
}

export function useDagFilter(): DagFiltering {
  const [params, setParams] = useSearchParams();
  return useMemo(() => {
    const filter = dagFilterOf(params);
    return {
      filter,
      isNarrow: params.size > 0,
      set(values) {
        setParams(
          (before) => {
            const after = new URLSearchParams(before);
            for (const [name, value] of Object.entries(values)) {
              after.delete(name);
              for (const each of [value ?? []].flat()) if (each !== "") after.append(name, each);
            }
            return after;
          },
          { replace: "q" in values },
        );
      },
      clear: () => setParams({}),
    };
  }, [params, setParams]);
}

/** The same list as options of `taskyard dags`. */
export function asOptions(filter: DagFilter): string[] {
  return [
    ...filter.status.flatMap((each) => ["--status", each]),
    ...ONE_VALUE.flatMap((name) => {
      const value = filter[name];
      return value === undefined ? [] : [name === "q" ? "--text" : `--${name.replace("_", "-")}`, value];
    }),
  ];
}

export function asQuery(filter: DagFilter): string {
  const query = new URLSearchParams(filter.status.map((each) => ["status", each]));
  for (const name of ONE_VALUE) if (filter[name] !== undefined) query.set(name, filter[name]);
  return query.size === 0 ? "" : `?${query.toString()}`;
}
