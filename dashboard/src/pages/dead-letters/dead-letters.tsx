/** The review inbox: what died, alike together, with the whole story of one beside it. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { CircleCheck } from "lucide-react";
import { useMemo } from "react";
import { useSearchParams } from "react-router";

import { deadLetters, type DeadLetter } from "@/api/letters";
import { say } from "@/language/say";
import { ViewerNote } from "@/parts/action";
import { Broken, Empty, Loading } from "@/parts/empty";
import { Card, Page } from "@/parts/page";
import { Tabs } from "@/parts/tabs";
import { useShortcut } from "@/shell/shortcuts";

import "./dead-letters.css";
import { Decisions } from "./decisions";
import { grouped } from "./grouping";
import { Groups } from "./groups";
import { Letter } from "./letter";

const VIEWS = [
  { name: "waiting", label: say("Waiting") },
  { name: "escalated", label: say("Escalated") },
  { name: "decisions", label: say("Decisions") },
] as const;

export default function DeadLetters() {
  const [asked, setAsked] = useSearchParams();
  const view = VIEWS.find(({ name }) => name === asked.get("view"))?.name ?? "waiting";
  return (
    <Page
      title={say("Dead letters")}
      twin={{ command: "taskyard dead ls", path: "/api/dead-letters" }}
      filling={view !== "decisions"}
      lead={say("Tasks out of attempts. Each waits for a person to decide.")}
      actions={<Tabs label={say("Which")} tabs={VIEWS} chosen={view} onChoose={(name) => setAsked({ view: name })} />}
    >
      <ViewerNote />
      {view === "decisions" ? <Decisions /> : <Inbox key={view} reviewed={view === "escalated"} />}
    </Page>
  );
}

function Inbox({ reviewed }: { reviewed: boolean }) {
  const { data, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(deadLetters(reviewed));
  const letters = useMemo(() => data?.pages.flatMap((page) => page.tasks), [data]);
  if (letters === undefined) {
    return <Card>{error === null ? <Loading rows={8} /> : <Broken error={error} retry={() => void refetch()} />}</Card>;
  }
  if (letters.length === 0) return <Card>{reviewed ? <NoneEscalated /> : <NoneWaiting />}</Card>;
  return <Reading letters={letters} {...(hasNextPage && { more: () => void fetchNextPage() })} />;
}

function Reading({ letters, more }: { letters: readonly DeadLetter[]; more?: () => void }) {
  const [asked, setAsked] = useSearchParams();
  const groups = useMemo(() => grouped(letters), [letters]);
  const inOrder = groups.flatMap((group) => group.letters);
  const chosen = inOrder.find((letter) => letter.id === asked.get("letter")) ?? inOrder[0];

  function choose(letter: DeadLetter | undefined): void {
    if (letter === undefined) return;
    const next = new URLSearchParams(asked);
    next.set("letter", letter.id);
    setAsked(next, { replace: true });
  }

  const index = chosen === undefined ? -1 : inOrder.indexOf(chosen);
  useShortcut("j", say("Next dead letter"), () => choose(inOrder[index + 1]));
  useShortcut("k", say("Previous dead letter"), () => choose(inOrder[index - 1]));
  return (
    <div className="letters">
      <Groups groups={groups} chosen={chosen} onChoose={choose} {...(more && { more })} />
      {chosen && <Letter key={chosen.id} letter={chosen} />}
    </div>
  );
}

function NoneWaiting() {
  return (
    <Empty icon={CircleCheck} title={say("No dead letter waits")} command="taskyard dead ls">
      {say("A task that fails more often than it may is put here, instead of being lost. The same list from a shell:")}
    </Empty>
  );
}

function NoneEscalated() {
  return (
    <Empty
      icon={CircleCheck}
      title={say("Nothing is escalated")}
      command="taskyard dead resolve TASK escalate --reason …"
    >
      {say("A letter that is not yours to decide can be handed on, and stays here until somebody does:")}
    </Empty>
  );
}
