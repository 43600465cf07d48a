/** A panel's twin: the command and the HTTP call that give the same. Every panel has one. */
import { Terminal } from "lucide-react";
import { useEffect, useId, useState } from "react";

import { say } from "@/language/say";

import { Command, quoted } from "./copy";

import "./twin.css";

export interface TwinProps {
  command: string; // of the command line; several are on lines of their own
  path: string; // of the call, with what is asked for: /api/tasks?status=ready
  method?: string; // GET where none is given
  body?: unknown; // sent as JSON
}

/** A button that shows the two. It names what it is about, for a page has many. */
export function Twin({ of, ...twin }: TwinProps & { of: string }) {
  const [open, setOpen] = useState(false);
  const panel = useId();
  useEffect(() => {
    if (!open) return;
    const close = (event: KeyboardEvent) => {
      if (event.key === "Escape") setOpen(false);
    };
    window.addEventListener("keydown", close);
    return () => window.removeEventListener("keydown", close);
  }, [open]);
  return (
    <div className="twin">
      <button
        type="button"
        className="button plain square small"
        aria-expanded={open}
        aria-controls={panel}
        aria-label={say("{of} as a command", { of })}
        title={say("As a command and as a call")}
        onClick={() => setOpen(!open)}
      >
        <Terminal aria-hidden />
      </button>
      <div
        id={panel}
        className="twin-panel"
        role="group"
        aria-label={say("{of} as a command and as a call", { of })}
        hidden={!open}
      >
        {open && (
          <>
            <span className="label">{say("From a shell")}</span>
            {twin.command.split("\n").map((line) => (
              <Command key={line} text={line} />
            ))}
            <span className="label">{say("Over HTTP")}</span>
            <Command text={curlOf(twin)} />
          </>
        )}
      </div>
    </div>
  );
}

/** The twin of whatever is shown of one task. */
export function showTwin(taskId: string): TwinProps {
  return { command: `taskyard show ${taskId}`, path: `/api/tasks/${taskId}` };
}

/** The call for a shell. Who has signed in has a token, which no page can read: its place is a variable. */
export function curlOf({ path, method = "GET", body }: Omit<TwinProps, "command">): string {
  const parts = ["curl"];
  if (method !== "GET") parts.push("-X", method);
  parts.push("-H", '"Authorization: Bearer $TASKYARD_TOKEN"');
  if (body !== undefined) parts.push("-H", "'content-type: application/json'", "-d", quoted(JSON.stringify(body)));
  parts.push(quoted(location.origin + path));
  return parts.join(" ");
}
