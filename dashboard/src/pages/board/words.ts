/** The board in words: its columns, and the command that shows the same. */
import type { BoardFilter, Lanes } from "@/api/board";
import { say } from "@/language/say";
import { quoted } from "@/parts/copy";

const COLUMNS: Record<string, { title: string; about: string }> = {
  waiting: { title: say("Waiting"), about: say("for other tasks, a time, an answer or money") },
  ready: { title: say("Ready"), about: say("to be claimed, the first one next") },
  running: { title: say("Running"), about: say("with an agent, the longest first") },
  validating: { title: say("Validating"), about: say("handed in, and judged") },
  done: { title: say("Done"), about: say("in the last 24 hours") },
  dead: { title: say("Dead letters"), about: say("out of attempts") },
};

export function columnWords(name: string): { title: string; about: string } {
  return COLUMNS[name] ?? { title: name, about: "" };
}

export const LANE_WORDS: Record<Lanes, { label: string; none: string }> = {
  agent: { label: say("Agent"), none: say("Any agent") },
  subject: { label: say("Subject"), none: say("No subject") },
  type: { label: say("Type"), none: say("No type") },
};

const OPTIONS: Record<keyof BoardFilter, string> = {
  q: "--text",
  type: "--type",
  queue: "--queue",
  agent: "--agent",
  subject: "--subject",
  tag: "--tag",
  dag: "--dag",
};

export function asCommand(filter: BoardFilter, lanes: Lanes | undefined): string {
  const given = Object.entries(filter).flatMap(([name, value]) =>
    (name === "type" ? value.split(/\s+/) : [value]).map(
      (each) => `${OPTIONS[name as keyof BoardFilter]} ${quoted(each)}`,
    ),
  );
  return ["taskyard board", ...(lanes === undefined ? [] : [`--lanes ${lanes}`]), ...given].join(" ");
}

export function asPath({ type, ...filter }: BoardFilter, lanes: Lanes | undefined): string {
  const query = new URLSearchParams(filter);
  for (const each of type?.split(/\s+/) ?? []) query.append("type", each);
  if (lanes !== undefined) query.set("lanes", lanes);
  return query.size === 0 ? "/api/board" : `/api/board?${query.toString()}`;
}

/** The list of tasks that a cell of the board shows the first of. */
export function asList(
  filter: BoardFilter,
  statuses: readonly string[],
  lanes: Lanes | undefined,
  lane: string | null,
) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter))
    for (const each of name === "type" ? value.split(/\s+/) : [value]) query.append(name, each);
  for (const status of statuses) query.append("status", status);
  if (lanes !== undefined && lane !== null) query.set(lanes, lane);
  return `/tasks?${query.toString()}`;
}
