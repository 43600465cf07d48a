import type { Question } from "@/api/letters";
import { say } from "@/language/say";
import { isBlank, Json, Verbatim } from "@/parts/json";

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
      {textsIn(question.context).map(([path, text]) => (
        <div key={path}>
          <code className="quiet">{path}</code>
          <Verbatim text={text} label={path} />
        </div>
      ))}
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

/** Texts of several lines, such as a command that is to be allowed: in JSON they are one line, and hard to read. */
function textsIn(value: unknown, path = ""): [string, string][] {
  if (typeof value === "string") return path !== "" && value.trim().includes("\n") ? [[path, value]] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => textsIn(each, path === "" ? name : `${path}/${name}`));
}
