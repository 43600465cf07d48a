/** A draft as the text that is edited, and as the command that puts it in. */
import type { Draft } from "@/api/new-work";
import { quoted } from "@/parts/copy";

export function textOf(draft: Draft): string {
  return JSON.stringify(draft, null, 2);
}

const OPTIONS: Record<string, string> = {
  prompt: "--prompt",
  title: "--title",
  queue: "--queue",
  agent: "--agent",
  subject: "--subject",
  priority: "--priority",
  max_cost_usd: "--max-cost",
  max_duration_sec: "--max-duration",
  idempotency_key: "--key",
  run_after: "--run-after",
  deadline: "--deadline",
};
const REPEATED: Record<string, string> = { tags: "--tag", required_capabilities: "--needs", depends_on: "--after" };

/** The same from a shell. What has no option of its own is set by its name. */
export function enqueueCommand(draft: Draft): string {
  const { type, ...rest } = draft;
  const words = Object.entries(rest).flatMap(([name, value]) => {
    const option = OPTIONS[name];
    if (option !== undefined && (typeof value === "string" || typeof value === "number"))
      return [option, String(value)];
    const repeated = REPEATED[name];
    if (repeated !== undefined && Array.isArray(value)) return value.flatMap((each) => [repeated, String(each)]);
    if (name === "payload") return ["--payload", JSON.stringify(value)];
    return ["--set", `${name}=${JSON.stringify(value)}`];
  });
  return ["taskyard", "enqueue", typeof type === "string" && type !== "" ? type : "TYPE", ...words]
    .map(quoted)
    .join(" ");
}
