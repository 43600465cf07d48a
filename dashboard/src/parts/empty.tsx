import { CircleAlert, RotateCw, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

import { wordsOf } from "@/api/problem";
import { say } from "@/language/say";

import { Command } from "./copy";

interface EmptyProps {
  icon: LucideIcon;
  title: string;
  children?: ReactNode;
  command?: string; // the next thing to do
}

/** Nothing to show: says why, and teaches the command that changes it. */
export function Empty({ icon: Icon, title, children, command }: EmptyProps) {
  return (
    <div className="empty">
      <Icon aria-hidden />
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {command !== undefined && <Command text={command} />}
    </div>
  );
}

/** Something could not be read. */
export function Broken({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div className="empty" role="alert">
      <CircleAlert aria-hidden />
      <h2>{say("This could not be read")}</h2>
      <p>{wordsOf(error)}</p>
      {retry !== undefined && (
        <button type="button" className="button" onClick={retry}>
          <RotateCw aria-hidden /> {say("Try again")}
        </button>
      )}
    </div>
  );
}

/** The room that something will take, while it is on its way. */
export function Loading({ rows = 4 }: { rows?: number }) {
  return (
    <div className="card-body" role="status" aria-label={say("Loading")}>
      {Array.from({ length: rows }, (_, index) => (
        <span
          key={index}
          className="skeleton"
          style={{ width: `${90 - ((index * 23) % 50)}%`, margin: "0.625rem 0" }}
        />
      ))}
    </div>
  );
}
