/** Entries of the audit log in words, places and commands. */
import { quoted } from "@/parts/copy";

export const AUDIT_FIELDS = ["who", "action", "object", "since", "until"] as const;
export type AuditField = (typeof AUDIT_FIELDS)[number];
export type AuditFilter = Partial<Record<AuditField, string>>;

/** What else an act said: names and values, without what is empty. */
export function factsOf(facts: Record<string, unknown>): string {
  return Object.entries(facts)
    .filter(([, value]) => value !== null && value !== "" && !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

const PLACES: Record<string, string> = {
  agent: "/agents",
  queue: "/queues",
  breaker: "/queues",
  schedule: "/schedules",
  trigger: "/schedules",
};

/** The page about an object; undefined where none is. */
export function placeOf(kind: string, name: string): string | undefined {
  if (kind === "task") return `/tasks/${encodeURIComponent(name)}`;
  if (kind === "dag") return `/dags/${encodeURIComponent(name)}`;
  return PLACES[kind];
}

/** The same entries from a shell. */
export function asCommand(verb: "ls" | "export", filter: AuditFilter): string {
  const options = AUDIT_FIELDS.flatMap((name) => {
    const value = filter[name];
    return value === undefined ? [] : [`--${name}`, quoted(value)];
  });
  return ["taskyard audit", verb, ...options].join(" ");
}
