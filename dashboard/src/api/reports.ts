import { queryOptions } from "@tanstack/react-query";

import { answered, api, type Shapes } from "./client";

export type Report = Shapes["GroupedReport"];
export type ReportRow = Shapes["ReportRow"];

export type ReportField = "type" | "agent" | "queue" | "subject" | "tag" | "reason";
export type ReportFilter = Partial<Record<ReportField, string>>;

export interface Asked {
  by: string[];
  measures: string[];
  source: string;
  since: string;
  until?: string;
  filter: ReportFilter;
}

export function report({ by, measures, source, since, until, filter: { type, ...filter } }: Asked) {
  const asked = { by, measures, source, since, ...(until !== undefined && { until }), ...filter };
  const types = type?.split(/\s+/) ?? [];
  return queryOptions({
    queryKey: ["report", asked, types],
    queryFn: ({ signal }) =>
      answered(api.GET("/api/reports", { params: { query: { ...asked, type: types } }, signal })),
    placeholderData: (before) => before,
    staleTime: 30_000,
  });
}
