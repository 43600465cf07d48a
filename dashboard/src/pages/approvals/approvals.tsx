/** Tasks that wait for a person's word, the longest first. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Stamp } from "lucide-react";
import { useEffect, useRef, type RefObject } from "react";
import { Link } from "react-router";

import { SignalTask } from "@/actions/signal";
import { nameOf } from "@/actions/subject";
import { answer, approvals, storeFile, type Approval, type Question } from "@/api/letters";
import { isRefusal, wordsOf } from "@/api/problem";
import { say } from "@/language/say";
import { askAgain } from "@/live/live";
import { ViewerNote } from "@/parts/action";
import { TaskId } from "@/parts/copy";
import { DagOf } from "@/parts/dag-of";
import { Broken, Empty, Loading } from "@/parts/empty";
import { isBlank, Json } from "@/parts/json";
import { Card, Page } from "@/parts/page";
import { Ago, Lasted } from "@/parts/time";

import { useMay, useSession } from "@/session/session";
import { useToast } from "@/shell/toasts";

import { QuestionForm } from "./question-form";
import { QuestionWords } from "./question-words";
import "./approvals.css";

export default function Approvals() {
  const { data, error, refetch } = useQuery(approvals);
  const begun = useBegun(data?.approvals);
  return (
    <Page
      title={say("Approvals")}
      twin={{ command: "taskyard approvals ls", path: "/api/approvals" }}
      lead={say("Tasks that wait for a person's word. Their agents are free for other work meanwhile.")}
    >
      <ViewerNote />
      {data === undefined && (
        <Card>{error === null ? <Loading /> : <Broken error={error} retry={() => void refetch()} />}</Card>
      )}
      {data?.approvals.length === 0 && (
        <Card>
          <Empty icon={Stamp} title={say("Nobody waits for you")} command="taskyard approvals answer TASK">
            {say(
              "A handler asks with {call}. Its task is listed here until somebody answers, from here or from a shell:",
              { call: <code>await task.ask("Deploy?")</code> },
            )}
          </Empty>
        </Card>
      )}
      <ul className="approvals">
        {data?.approvals.map((approval) => (
          <li key={keyOf(approval)} onInput={() => begun.current.set(keyOf(approval), nameOf(approval.task))}>
            <Wanted approval={approval} begun={begun} />
          </li>
        ))}
      </ul>
    </Page>
  );
}

type Begun = RefObject<Map<string, string>>; // the names of tasks by what is being filled in and not sent

function keyOf({ task, signal, wait }: Approval): string {
  return `${task.id} ${signal} ${wait}`;
}

/** Tells of a form that goes while somebody fills it in: another has answered, or its time is over. */
function useBegun(waiting: readonly Approval[] | undefined): Begun {
  const tell = useToast();
  const begun = useRef(new Map<string, string>());
  useEffect(() => {
    if (waiting === undefined) return;
    const there = new Set(waiting.map(keyOf));
    for (const [key, task] of begun.current) {
      if (there.has(key)) continue;
      begun.current.delete(key);
      tell("bad", say("{task} waits no longer: what you had begun to fill in was not sent.", { task }));
    }
  }, [waiting, tell]);
  return begun;
}

function Wanted({ approval, begun }: { approval: Approval; begun: Begun }) {
  const { task, signal, since, until, question } = approval;
  return (
    <article className="card approval">
      <header>
        <div>
          <h2>
            <Link className="row-name" to={`/tasks/${task.id}`}>
              {nameOf(task)}
            </Link>
          </h2>
          <p className="approval-facts quiet">
            <span className="chip">{task.type}</span>
            <span>
              {say("has waited {time} for {signal}", { signal: <code>{signal}</code>, time: <Lasted from={since} /> })}
            </span>
            {until !== null && <span>{say("gives up {ago}", { ago: <Ago at={until} /> })}</span>}
            {question !== null && <AskedOf question={question} />}
            <TaskId id={task.id} />
            <DagOf task={task} />
          </p>
        </div>
        {question === null && (
          <div className="page-actions">
            <SignalTask task={task} name={signal} />
          </div>
        )}
      </header>
      {question !== null && <Asking approval={approval} question={question} begun={begun} />}
      {task.spec.prompt !== "" && <p className="prose card-body">{task.spec.prompt}</p>}
      <Asked progress={task.claim?.progress ?? null} payload={task.spec.payload} />
    </article>
  );
}

/** Who asked, and whom. */
function AskedOf({ question: { asked_by, who } }: { question: Question }) {
  return (
    <>
      <span>{say("asked by {who}", { who: asked_by })}</span>
      {who.length > 0 && <span>{say("for {people}", { people: who.join(", ") })}</span>}
    </>
  );
}

function Asking({ approval, question, begun }: { approval: Approval; question: Question; begun: Begun }) {
  const client = useQueryClient();
  const tell = useToast();
  const { may, why } = useMay("steer");
  const { stores_files } = useSession();
  async function send(data: unknown) {
    try {
      await answer(approval.task.id, approval.signal, data, approval.wait);
    } catch (error) {
      if (isRefusal(error, 409)) {
        begun.current.delete(keyOf(approval));
        tell("bad", wordsOf(error)); // by whom and when: the form goes as soon as the list is read again
      }
      throw error;
    }
    begun.current.delete(keyOf(approval));
    tell("good", say("Answered: the task goes on"));
    await askAgain(client);
  }
  return (
    <div className="approval-question">
      <QuestionWords question={question} />
      <QuestionForm
        schema={question.answer_schema}
        send={send}
        upload={
          stores_files ? storeFile : say("This yard has no place for files: an operator sets TASKYARD_ARTIFACTS.")
        }
        hindrance={may ? undefined : why}
      />
    </div>
  );
}

/** What there is to decide on: the payload it was given, and the last thing it said of itself. */
function Asked({ progress, payload }: { progress: unknown; payload: unknown }) {
  const facts = Object.entries({ payload, progress }).filter(([, value]) => !isBlank(value));
  if (facts.length === 0) return null;
  return (
    <div className="approval-data">
      <Json value={Object.fromEntries(facts)} label={say("what there is to decide on")} />
    </div>
  );
}
