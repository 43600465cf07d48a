import { useEffect, useRef, useState } from "react";

import type { Shapes } from "@/api/client";
import { Card } from "@/parts/page";
import { visible } from "@/parts/visible";

const NEAR = 40; // pixels from the end at which the reader is taken to follow
const MOST = 200_000; // characters that are shown: the end of what was written

type Chunk = Shapes["StreamedChunk"];
interface Written {
  attempt: number;
  text: string;
}

/** What an attempt writes while it works, as it writes it. A new attempt begins anew. */
export function LiveOutput({ taskId }: { taskId: string }) {
  const written = useWritten(taskId);
  const log = useRef<HTMLPreElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    if (follows.current) log.current?.scrollTo(0, log.current.scrollHeight);
  }, [written]);
  if (written.text === "") return null;
  return (
    <Card title="Live output" aside={<span className="quiet">attempt {written.attempt}</span>}>
      <pre
        ref={log}
        tabIndex={0}
        className="task-log task-written"
        role="log"
        aria-label="Live output"
        onScroll={({ currentTarget: at }) => {
          follows.current = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR;
        }}
      >
        {visible(written.text)}
      </pre>
    </Card>
  );
}

function useWritten(taskId: string): Written {
  const [written, setWritten] = useState<Written>({ attempt: 0, text: "" });
  useEffect(() => {
    // The browser comes back by itself after a cut, and says with Last-Event-ID how far it got.
    const source = new EventSource(`/api/tasks/${encodeURIComponent(taskId)}/stream`);
    const add = (message: MessageEvent<string>) => {
      const chunk = JSON.parse(message.data) as Chunk;
      setWritten((before) => grown(before, chunk));
    };
    source.addEventListener("message", add);
    source.addEventListener("restarted", add);
    source.addEventListener("end", () => source.close());
    return () => source.close();
  }, [taskId]);
  return written;
}

/** What was written, with one chunk more. */
export function grown(before: Written, chunk: Chunk): Written {
  const text = chunk.attempt === before.attempt ? before.text : "";
  return { attempt: chunk.attempt, text: (text + words(chunk, text)).slice(-MOST) };
}

function words(chunk: Chunk, before: string): string {
  const begin = before === "" || before.endsWith("\n") ? "" : "\n";
  switch (chunk.kind) {
    case "json":
      return `${begin}${JSON.stringify(chunk.data)}\n`;
    case "cut":
      return `${begin}${chunk.text}\n`;
    case "message":
    case "progress":
      return ""; // shown beside it, with their times
    default:
      return chunk.text;
  }
}
