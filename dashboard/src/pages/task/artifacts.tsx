import { Paperclip } from "lucide-react";

import { say } from "@/language/say";
import { CopyButton } from "@/parts/copy";
import { Card } from "@/parts/page";

/** The files it made. The server sends them as attachments, so that none is ever shown as a page. */
export function Artifacts({ taskId, refs }: { taskId: string; refs: readonly string[] }) {
  if (refs.length === 0) return null;
  return (
    <Card
      title={say("Artifacts")}
      aside={<span className="quiet">{refs.length}</span>}
      twin={{ command: `taskyard artifacts ls ${taskId}`, path: `/api/tasks/${taskId}/artifacts` }}
    >
      <ul className="card-body task-artifacts">
        {refs.map((ref) => (
          <li key={ref}>
            <Paperclip aria-hidden />
            <a className="clip" href={`/api/artifacts/${encodeURIComponent(ref.replace(/^artifact:/, ""))}`} download>
              {ref}
            </a>
            <CopyButton text={ref} label={say("Copy {ref}", { ref })} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
