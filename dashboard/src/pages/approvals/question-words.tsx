import type { Question } from "@/api/letters";
import { say } from "@/language/say";
import { isBlank, Json } from "@/parts/json";

/** The question itself, what is shown beside it, and what becomes of it when nobody answers. */
export function QuestionWords({ question }: { question: Question }) {
  return (
    <>
      <p className="question-text" dir="auto">
        {question.text}
      </p>
      {!isBlank(question.context) && (
        <Json value={question.context} label={say("what the agent shows beside the question")} />
      )}
      {question.has_default && (
        <p className="quiet">
          {say("When the time is over, the answer is {answer}.", {
            answer: <code>{JSON.stringify(question.default)}</code>,
          })}
        </p>
      )}
    </>
  );
}
