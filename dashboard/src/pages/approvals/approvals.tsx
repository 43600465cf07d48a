/** Tasks that wait for a person's word, the longest first. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Stamp } from "lucide-react";
import { Link } from "react-router";

import { SignalTask } from "@/actions/signal";
import { nameOf } from "@/actions/subject";
import { answer, approvals, storeFile, type Approval, type Question } from "@/api/letters";
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
          <li key={`${approval.task.id} ${approval.signal}`}>
            <Wanted approval={approval} />
          </li>
        ))}
      </ul>
    </Page>
  );
}

function Wanted({ approval }: { approval: Approval }) {
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
      {question !== null && <Asking approval={approval} question={question} />}
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

function Asking({ approval, question }: { approval: Approval; question: Question }) {
  const client = useQueryClient();
  const tell = useToast();
  const { may, why } = useMay("steer");
  const { stores_files } = useSession();
  async function send(data: unknown) {
    await answer(approval.task.id, approval.signal, data, approval.wait);
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
