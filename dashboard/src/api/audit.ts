/** The audit log: who did what, and how long that is kept. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import type { YardEvent } from "@/live/stream";
import type { AuditFilter } from "@/pages/audit/words";

import { answered, api, type Api, type Shapes } from "./client";

export type AuditEntry = Shapes["AuditEntry"];
type AuditPage = Shapes["AuditPage"];

const PAGE = 100;
const MOST = 200; // entries of one call
const MOST_EXPORTED = 50_000; // entries that a browser should hold; `taskyard audit export` has no such bound

function page(filter: AuditFilter, limit: number, cursor: string | null, signal?: AbortSignal): Promise<AuditPage> {
  const query = { ...filter, limit, ...(cursor !== null && { cursor }) };
  return answered(api.GET("/api/audit", { params: { query }, ...(signal && { signal }) }));
}

export function auditLog(filter: AuditFilter) {
  return infiniteQueryOptions({
    queryKey: ["audit", filter],
    queryFn: ({ pageParam, signal }) => page(filter, PAGE, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
    meta: { changesWith: ({ payload }: YardEvent) => "by" in payload, pace: 2_000 },
  });
}

export const auditPolicy = queryOptions({
  queryKey: ["audit-policy"],
  queryFn: ({ signal }) => answered(api.GET("/api/audit/policy", { signal })),
  meta: { changesWith: ({ event }: YardEvent) => event === "workspace.audit" },
});

export function keepAudit(via: Api, days: number): Promise<unknown> {
  return answered(via.PUT("/api/audit/policy", { body: { days } }));
}

interface Collected {
  entries: AuditEntry[];
  isCut: boolean;
}

/** Every entry that the filter takes, up to what a browser should hold. */
export async function collectAudit(filter: AuditFilter): Promise<Collected> {
  const entries: AuditEntry[] = [];
  let cursor: string | null = null;
  do {
    const next: AuditPage = await page(filter, MOST, cursor);
    entries.push(...next.entries);
    cursor = next.cursor;
  } while (cursor !== null && entries.length < MOST_EXPORTED);
  return { entries, isCut: cursor !== null };
}
