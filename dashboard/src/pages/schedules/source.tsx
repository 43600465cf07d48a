import { ChevronDown, ChevronRight } from "lucide-react";
import { useId, type ReactNode } from "react";
import { useSearchParams } from "react-router";

import type { Fire } from "@/api/sources";
import { say } from "@/language/say";
import { Id } from "@/parts/copy";
import { Json } from "@/parts/json";
import { StatusBadge } from "@/parts/status";
import { Ago } from "@/parts/time";

import { Fires } from "./fires";

interface SourceProps {
  kind: "schedule" | "trigger"; // also its name in the address
  id: string;
  isPaused: boolean;
  when: string;
  makes: string;
  aside: ReactNode; // in short, how it stands
  actions: ReactNode;
  children: ReactNode; // more, for who opens it
}

/** A schedule or a trigger: a line that opens. */
export function Source({ kind, id, isPaused, when, makes, aside, actions, children }: SourceProps) {
  const [asked, setAsked] = useSearchParams();
  const body = useId();
  const isOpen = asked.get(kind) === id;
  return (
    <li className="source" data-source={id}>
      <div className="source-line">
        <button
          type="button"
          className="source-name"
          aria-expanded={isOpen}
          aria-controls={body}
          onClick={() => setAsked(isOpen ? {} : { [kind]: id }, { replace: true })}
        >
          {isOpen ? <ChevronDown aria-hidden /> : <ChevronRight aria-hidden />}
          <strong className="clip">{id}</strong>
        </button>
        <span className="source-words">
          {when} <span className="quiet">{say("makes {makes}", { makes })}</span>
        </span>
        <span className="source-aside quiet">{isPaused ? <StatusBadge status="paused" /> : aside}</span>
        <span className="source-actions">{actions}</span>
      </div>
      {isOpen && (
        <div className="source-body" id={body}>
          <Id id={id} whole />
          {children}
        </div>
      )}
    </li>
  );
}

/** Among the facts of an open one. */
export function MadeBy({ by, at }: { by: string; at: string }) {
  return (
    <>
      <dt>{say("Made by")}</dt>
      <dd>
        {by} <Ago at={at} />
      </dd>
    </>
  );
}

/** What an open one makes, and what came of it lately, once that is known. */
export function MakesAndMade({ template, fires }: { template: unknown; fires: readonly Fire[] | undefined }) {
  return (
    <>
      <div>
        <h3>{say("Makes")}</h3>
        <Json value={template} label={say("template")} />
      </div>
      <div>
        <h3>{say("Last fires")}</h3>
        {fires && <Fires fires={fires} />}
      </div>
    </>
  );
}
