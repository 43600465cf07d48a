import { MessageSquareText } from "lucide-react";
import { useEffect, useRef } from "react";

import type { TaskDetails, TaskEvent } from "@/api/tasks";
import { Card } from "@/parts/page";
import { ProgressBar, progressOf } from "@/parts/progress";
import { At } from "@/parts/time";

import { isSaid, saying } from "./story";

const NEAR = 40; // pixels from the end at which the reader is taken to follow

/** What the agent says while it works, as it says it. */
export function Activity({ task, events }: { task: TaskDetails; events: readonly TaskEvent[] }) {
  const log = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const said = events.filter(isSaid);
  const progress = progressOf(task.claim?.progress);
  useEffect(() => {
    if (follows.current) log.current?.scrollTo(0, log.current.scrollHeight);
  }, [said.length]);
  return (
    <Card title="Progress and messages" aside={<span className="quiet">{said.length}</span>}>
      {progress !== null && (
        <div className="task-progress">
          {progress.fraction !== null && <ProgressBar fraction={progress.fraction} label="Progress" />}
          <span className="prose">{progress.note}</span>
          {progress.fraction !== null && <b>{Math.round(progress.fraction * 100)} %</b>}
        </div>
      )}
      {said.length === 0 ? (
        progress === null && (
          <p className="task-silent quiet">
            <MessageSquareText aria-hidden /> Nothing was said yet. What its agent tells with <code>message</code> and{" "}
            <code>progress</code> streams in here.
          </p>
        )
      ) : (
        <div
          ref={log}
          tabIndex={0}
          className="task-log"
          role="log"
          aria-label="Messages"
          onScroll={({ currentTarget: at }) => {
            follows.current = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR;
          }}
        >
          {said.map((event) => (
            <Said key={event.seq} event={event} />
          ))}
        </div>
      )}
    </Card>
  );
}

function Said({ event }: { event: TaskEvent }) {
  const { words, more } = saying(event);
  return (
    <div className="task-said">
      <At at={event.at} />
      <span className="quiet clip">{more}</span>
      <span className="prose">{words}</span>
    </div>
  );
}
