/** The orders that a list of tasks may have. */

/** The first two are exact for any number of tasks; by the others, the newest `SORTED` that match are sorted. */
export const SORTS = ["newest", "oldest", "updated", "priority", "failures", "cost", "took"] as const;
export type Sort = (typeof SORTS)[number];
export const SORTED = 2_000;
