/** What was said and done, as it comes: messages, tool calls, steps, streamed text and logs. To be searched and folded. */
import { useQuery } from "@tanstack/react-query";
import {
  Activity,
  Braces,
  ChevronRight,
  CircleHelp,
  Footprints,
  MessageSquareText,
  Pencil,
  SquareTerminal,
  TriangleAlert,
  Wrench,
  type LucideIcon,
} from "lucide-react";
import { memo, useEffect, useMemo, useRef, useState } from "react";

import { isFinal } from "@/actions/subject";
import { checkpoints, type TaskDetails, type TaskEvent } from "@/api/tasks";
import { say } from "@/language/say";

import { Card } from "@/parts/page";
import { ProgressBar, progressOf } from "@/parts/progress";
import { Tabs } from "@/parts/tabs";
import { At } from "@/parts/time";

import {
  foundIn,
  grown,
  piecesOf,
  transcriptOf,
  VIEWS,
  type Chunk,
  type Entry,
  type EntryKind,
  type TranscriptView,
} from "./transcript";
import "./transcript.css";

const NEAR = 40; // pixels from the end at which the reader is taken to follow
const AT_ONCE = 200; // entries that are drawn; those before come when they are asked for
const FOLDED_FROM = 12; // lines
const FOLDED_TO = 4; // lines that are left of what is folded
const ON_ONE_LINE = 100; // characters of a value
const LONGEST = 20_000; // characters of an entry that are drawn
const FIRST_WAIT = 2_000; // milliseconds until a stream that was refused is asked for again; twice as long each time
const LONGEST_WAIT = 60_000;

const LOOKS: Record<EntryKind, { word: string; icon: LucideIcon }> = {
  message: { word: say("message"), icon: MessageSquareText },
  tool: { word: say("tool"), icon: Wrench },
  step: { word: say("step"), icon: Footprints },
  progress: { word: say("progress"), icon: Activity },
  text: { word: say("text"), icon: Pencil },
  value: { word: say("value"), icon: Braces },
  stdout: { word: "stdout", icon: SquareTerminal },
  stderr: { word: "stderr", icon: TriangleAlert },
  question: { word: say("question"), icon: CircleHelp },
};

export function Transcript({ task, events }: { task: TaskDetails; events: readonly TaskEvent[] }) {
  const streamed = useStreamed(task.id, isFinal(task.status));
  const [view, setView] = useState<TranscriptView>("all");
  const [search, setSearch] = useState("");
  const [shown, setShown] = useState(AT_ONCE);
  const all = useMemo(() => transcriptOf(events, streamed), [events, streamed]);
  const found = useMemo(() => foundIn(all, view, search), [all, view, search]);
  const hasSteps = all.some(({ step }) => step !== null);
  const { data: results } = useQuery({ ...checkpoints(task.id), enabled: hasSteps });
  const progress = progressOf(task.claim?.progress);
  const drawn = found.slice(-shown);
  const log = useFollowing(found, results);
  if (isFinal(task.status) && all.length === 0) return null;
  return (
    <Card
      title={say("Transcript")}
      aside={
        <span className="quiet">
          {found.length === all.length
            ? say("{all|# entry|# entries}", { all: all.length })
            : say("{found} of {all}", { found: found.length, all: all.length })}
        </span>
      }
      twin={{
        command: `taskyard logs ${task.id} --follow\ntaskyard events ${task.id}`,
        path: `/api/tasks/${task.id}/stream`,
      }}
    >
      {progress !== null && (
        <div className="task-progress">
          {progress.fraction !== null && <ProgressBar fraction={progress.fraction} label={say("Progress")} />}
          <span className="prose">{progress.note}</span>
          {progress.fraction !== null && <b>{Math.round(progress.fraction * 100)} %</b>}
        </div>
      )}
      {all.length === 0 ? (
        <p className="task-silent quiet">
          <MessageSquareText aria-hidden />{" "}
          {say("Nothing was said yet. What its agent tells with {calls} and {last} comes in here.", {
            calls: (
              <>
                <code>message</code>, <code>progress</code>
              </>
            ),
            last: <code>stream</code>,
          })}
        </p>
      ) : (
        <>
          <div className="transcript-bar">
            <Tabs label={say("What is shown")} tabs={VIEWS} chosen={view} onChoose={setView} />
            <input
              type="search"
              aria-label={say("Search the transcript")}
              placeholder={say("Search")}
              value={search}
              maxLength={200}
              onChange={(event) => setSearch(event.target.value)}
            />
          </div>
          <div {...log} className="transcript" tabIndex={0} role="log" aria-label={say("Transcript")}>
            {found.length > shown && (
              <button type="button" className="button small" onClick={() => setShown(shown + AT_ONCE)}>
                {say("Show {some} earlier", { some: Math.min(found.length - shown, AT_ONCE) })}
              </button>
            )}
            {found.length === 0 && (
              <p className="quiet">
                {search === "" ? say("Nothing of this kind.") : say("Nothing of this kind has these words.")}
              </p>
            )}
            {drawn.map((entry, index) => (
              <Said
                key={entry.key}
                entry={entry}
                search={search}
                result={entry.step === null ? undefined : results?.checkpoints[entry.step]}
                isNewAttempt={
                  entry.attempt !== null && index > 0 && (lastAttempt(drawn, index) ?? entry.attempt) !== entry.attempt
                }
              />
            ))}
          </div>
        </>
      )}
    </Card>
  );
}

function lastAttempt(entries: readonly Entry[], before: number): number | null {
  for (let index = before - 1; index >= 0; index--) {
    const attempt = entries[index]?.attempt ?? null;
    if (attempt !== null) return attempt;
  }
  return null;
}

interface SaidProps {
  entry: Entry;
  search: string;
  result: unknown;
  isNewAttempt: boolean;
}

const Said = memo(function Said({ entry, search, result, isNewAttempt }: SaidProps) {
  const { word, icon: Icon } = LOOKS[entry.kind];
  const text = entry.text === "" && result !== undefined ? asText(result) : entry.text;
  return (
    <>
      {isNewAttempt && <p className="transcript-attempt">{say("Attempt {attempt}", { attempt: entry.attempt })}</p>}
      <article className={`transcript-entry ${entry.kind}`}>
        <header>
          <Icon aria-hidden />
          <b className="clip">
            <Marked text={entry.who === "" ? word : entry.who} search={search} />
          </b>
          {entry.who !== "" && entry.who !== word && <span className="quiet">{word}</span>}
          <At at={entry.at} />
        </header>
        {text !== "" && <Body text={text} search={search} isFolded={entry.step !== null || isLong(text, entry.kind)} />}
      </article>
    </>
  );
});

function isLong(text: string, kind: EntryKind): boolean {
  return kind !== "text" && linesOf(text).length > FOLDED_FROM;
}

function linesOf(text: string): string[] {
  return text.split("\n");
}

/** A text that can be folded: then its first lines are left, or those around what was searched for. */
function Body({ text, search, isFolded }: { text: string; search: string; isFolded: boolean }) {
  const [asked, setAsked] = useState<boolean | null>(null); // null: as it is usual
  const lines = linesOf(text);
  const canFold = lines.length > (isFolded ? FOLDED_TO : FOLDED_FROM) || text.length > 2_000;
  const isOpen = asked ?? !isFolded;
  const from = isOpen || search.trim() === "" ? 0 : Math.max(lineWith(lines, search) - 1, 0);
  const shown =
    isOpen || !canFold
      ? text.slice(-LONGEST)
      : lines
          .slice(from, from + FOLDED_TO)
          .join("\n")
          .slice(0, 600);
  return (
    <>
      <pre dir="auto">
        <Marked text={shown} search={search} />
      </pre>
      {canFold && (
        <button type="button" className="transcript-fold" aria-expanded={isOpen} onClick={() => setAsked(!isOpen)}>
          <ChevronRight aria-hidden />{" "}
          {isOpen ? say("Fold") : say("All {lines|# line|# lines}", { lines: lines.length })}
        </button>
      )}
    </>
  );
}

function lineWith(lines: readonly string[], search: string): number {
  const wanted = search.trim().toLowerCase();
  return lines.findIndex((line) => line.toLowerCase().includes(wanted));
}

function Marked({ text, search }: { text: string; search: string }) {
  // Each in an element: what hides or turns text around is escaped where an element is made.
  return piecesOf(text, search).map((piece, index) =>
    index % 2 === 1 ? <mark key={index}>{piece}</mark> : <span key={index}>{piece}</span>,
  );
}

function asText(value: unknown): string {
  if (typeof value === "string") return value;
  const short = JSON.stringify(value);
  return short.length <= ON_ONE_LINE ? short : JSON.stringify(value, null, 2);
}

/** Scrolls to the end as long as the reader is there. */
function useFollowing(entries: readonly Entry[], results: unknown) {
  const ref = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    if (follows.current) ref.current?.scrollTo(0, ref.current.scrollHeight);
  }, [entries, results]);
  return {
    ref,
    onScroll: () => {
      const at = ref.current;
      if (at !== null) follows.current = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR;
    },
  };
}

/** What attempts have streamed, and go on to. A task that has ended may get another attempt, which is followed too. */
function useStreamed(taskId: string, isOver: boolean): readonly Entry[] {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const last = useRef<string | null>(null); // the place of the latest chunk: where a new stream goes on
  useEffect(() => {
    let source: EventSource | undefined;
    let again: number | undefined;
    let wait = FIRST_WAIT;
    const add = (message: MessageEvent<string>) => {
      const chunk = JSON.parse(message.data) as Chunk;
      last.current = chunk.place;
      setEntries((before) => grown(before, chunk));
    };
    function open() {
      const from = last.current === null ? "" : `?after=${last.current}`;
      const stream = new EventSource(`/api/tasks/${encodeURIComponent(taskId)}/stream${from}`);
      source = stream;
      stream.addEventListener("open", () => (wait = FIRST_WAIT));
      stream.addEventListener("message", add);
      stream.addEventListener("restarted", add);
      stream.addEventListener("end", () => stream.close());
      stream.addEventListener("error", () => {
        // After a cut the browser comes back by itself, and says with Last-Event-ID how far it got; not after a refusal.
        if (stream.readyState !== EventSource.CLOSED) return;
        again = window.setTimeout(open, wait);
        wait = Math.min(wait * 2, LONGEST_WAIT);
      });
    }
    open();
    return () => {
      window.clearTimeout(again);
      source?.close();
    };
  }, [taskId, isOver]);
  return entries;
}
