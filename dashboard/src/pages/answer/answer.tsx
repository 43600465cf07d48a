/** What a link in a notification leads to: one question, and nothing else of the yard. Only sending the form answers. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useParams } from "react-router";

import { answerByLink, linkedQuestion, type LinkedQuestion } from "@/api/letters";
import { isRefusal, wordsOf } from "@/api/problem";
import { say } from "@/language/say";
import { QuestionForm } from "@/pages/approvals/question-form";
import { QuestionWords } from "@/pages/approvals/question-words";
import { serverNow } from "@/live/clock";
import { Loading } from "@/parts/empty";
import { Ago } from "@/parts/time";
import { Logo } from "@/shell/logo";

import "./answer.css";

export default function Answer() {
  const { link = "" } = useParams();
  const { data, error } = useQuery(linkedQuestion(link));
  const isGone = isRefusal(error, 404);
  useEffect(() => {
    document.title = say("A question · Taskyard");
  }, []);
  return (
    <main className="answer">
      <div className="answer-card">
        <Logo />
        {data === undefined && error === null && <Loading />}
        {error !== null && (data === undefined || isGone) && (
          <>
            <h1>{say("This link leads nowhere")}</h1>
            <p>
              {isGone
                ? say(
                    "It is not whole, its question is answered, or its time is over. Sign in to the yard to see what waits for you.",
                  )
                : wordsOf(error)}
            </p>
          </>
        )}
        {data !== undefined && !isGone && <Shown link={link} asked={data} />}
      </div>
    </main>
  );
}

function Shown({ link, asked }: { link: string; asked: LinkedQuestion }) {
  const client = useQueryClient();
  const { question, task_title, task_type, since, until, is_open } = asked;
  const isLimited = is_open && until !== null;
  useEffect(() => {
    if (!isLimited) return;
    const over = window.setTimeout(
      () => void client.invalidateQueries(linkedQuestion(link)),
      Math.max(Date.parse(until) - serverNow(), 0) + 1_000,
    );
    return () => window.clearTimeout(over);
  }, [client, link, isLimited, until]);
  async function send(data: unknown) {
    try {
      await answerByLink(link, data);
    } catch (error) {
      if (!isRefusal(error, 409) && !isRefusal(error, 404)) throw error; // answered before, or its time is over
    }
    await client.invalidateQueries(linkedQuestion(link));
  }
  return (
    <>
      <h1>{task_title === "" ? task_type : task_title}</h1>
      <p className="answer-facts quiet">
        <span>{say("asked by {who}", { who: question.asked_by })}</span>
        <span>{say("asked {ago}", { ago: <Ago at={since} /> })}</span>
        {isLimited && <span>{say("gives up {ago}", { ago: <Ago at={until} /> })}</span>}
      </p>
      <QuestionWords question={question} />
      {is_open ? (
        <>
          <QuestionForm schema={question.answer_schema} send={send} upload={say("Sign in to send a file.")} />
          <p className="quiet">
            {say("Your answer is recorded as {recipient}. This link takes one answer.", {
              recipient: <code>link:{asked.recipient}</code>,
            })}
          </p>
        </>
      ) : (
        <Ended question={question} />
      )}
    </>
  );
}

function Ended({ question: { answered } }: { question: LinkedQuestion["question"] }) {
  if (answered === null) return <p role="status">{say("The task no longer waits for an answer.")}</p>;
  return (
    <p className="note tone-info" role="status">
      <span>
        {say("Answered by {by} {ago}: {data}", {
          by: answered.by,
          ago: <Ago at={answered.at} />,
          data: <code>{JSON.stringify(answered.data)}</code>,
        })}
      </span>
    </p>
  );
}
