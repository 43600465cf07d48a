import { useEffect, type ReactNode } from "react";

import { visible } from "./visible";

interface PageProps {
  title: string;
  heading?: ReactNode; // where the title alone is not enough
  trail?: ReactNode; // what it is part of
  lead?: ReactNode;
  actions?: ReactNode;
  filling?: boolean; // as high as the window: what is inside scrolls
  children: ReactNode;
}

/** A page: its name in the window's title and at its top, what can be done on it, and what it shows. */
export function Page({ title, heading, trail, lead, actions, filling = false, children }: PageProps) {
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
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

interface CardProps {
  title?: ReactNode;
  aside?: ReactNode;
  className?: string;
  children: ReactNode;
}

export function Card({ title, aside, className = "", children }: CardProps) {
  return (
    <section className={`card ${className}`}>
      {title !== undefined && (
        <header>
          <h2>{title}</h2>
          {aside}
        </header>
      )}
      {children}
    </section>
  );
}
