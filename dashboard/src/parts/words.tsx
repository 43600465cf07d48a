/** A sentence of the server's, with the times in it by the reader's clock and the tasks in it to be gone to. */
import { Link } from "react-router";

import { shortId } from "./format";
import { At } from "./time";

const PARTS = /(\btask_[0-9A-Z]{26}\b|\b\d{4}-\d\d-\d\dT[\d:.]+Z)/;

interface WordsProps {
  text: string;
  names?: ReadonlyMap<string, string>; // of tasks, by their ids
}

export function Words({ text, names }: WordsProps) {
  return (
    <>
      {text.split(PARTS).map((part, index) => {
        if (!PARTS.test(part)) return part;
        if (!part.startsWith("task_")) return <At key={index} at={part} />;
        return (
          <Link key={index} to={`/tasks/${part}`} title={part}>
            {names?.get(part) ?? shortId(part)}
          </Link>
        );
      })}
    </>
  );
}
