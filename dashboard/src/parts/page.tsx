import { useEffect, type ReactNode } from "react";

import { say } from "@/language/say";

import { Twin, type TwinProps } from "./twin";
import { visible } from "./visible";

interface PageProps {
  title: string;
  heading?: ReactNode; // where the title alone is not enough
  trail?: ReactNode; // what it is part of
  lead?: ReactNode;
  actions?: ReactNode;
  twin?: TwinProps; // where the page is one panel
  filling?: boolean; // as high as the window: what is inside scrolls
  children: ReactNode;
}

/** A page: its name in the window's title and at its top, what can be done on it, and what it shows. */
export function Page({ title, heading, trail, lead, actions, twin, filling = false, children }: PageProps) {
  useEffect(() => {
    document.title = `${visible(title)} · Taskyard`;
  }, [title]);
  return (
    <div className={`page${filling ? " filling" : ""}`}>
      <div className="page-head">
        <div>
          {trail !== undefined && <div className="trail">{trail}</div>}
          <h1>{heading ?? title}</h1>
          {lead !== undefined && <div className="lead">{lead}</div>}
        </div>
        {(actions !== undefined || twin !== undefined) && (
          <div className="page-actions">
            {actions}
            {twin !== undefined && <Twin of={title} {...twin} />}
          </div>
        )}
      </div>
      {children}
    </div>
  );
}

interface CardProps {
  title?: ReactNode;
  aside?: ReactNode;
  twin?: TwinProps;
  name?: string; // for the twin, where the title is no text
  className?: string;
  children: ReactNode;
}

/** A panel with a title has its twin: the command and the call that give the same. */
type PanelProps = CardProps & ({ title?: never; twin?: never } | { title: ReactNode; twin: TwinProps });

export function Card({ title, aside, twin, name, className = "", children }: PanelProps) {
  return (
    <section className={`card ${className}`}>
      {title !== undefined && (
        <header>
          <h2>{title}</h2>
          <div className="card-aside">
            {aside}
            <Twin of={name ?? (typeof title === "string" ? title : say("This panel"))} {...twin} />
          </div>
        </header>
      )}
      {children}
    </section>
  );
}
