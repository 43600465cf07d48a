import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { Link } from "react-router";

import { say } from "@/language/say";

import { shortId } from "./format";

const SHOWN = 1500; // milliseconds that a copy is acknowledged

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = window.setTimeout(() => setCopied(false), SHOWN);
    return () => window.clearTimeout(timer);
  }, [copied]);
  return (
    <button
      type="button"
      className="copy"
      title={label}
      aria-label={copied ? say("Copied") : label}
      onClick={async (event) => {
        event.stopPropagation();
        await navigator.clipboard.writeText(text);
        setCopied(true);
      }}
    >
      {copied ? <Check aria-hidden /> : <Copy aria-hidden />}
    </button>
  );
}

/** An id: shortened, whole on hover, and to be copied. */
export function Id({ id, to, whole = false }: { id: string; to?: string; whole?: boolean }) {
  const shown = whole ? id : shortId(id);
  return (
    <span className="id" title={id}>
      {to === undefined ? (
        <span className="clip">{shown}</span>
      ) : (
        <Link className="clip" to={to}>
          {shown}
        </Link>
      )}
      <CopyButton text={id} label={say("Copy {id}", { id })} />
    </span>
  );
}

export function TaskId({ id, whole = false }: { id: string; whole?: boolean }) {
  return <Id id={id} to={`/tasks/${id}`} whole={whole} />;
}

/** What does the same from a shell. */
export function Command({ text }: { text: string }) {
  return (
    <div className="command">
      <code>{text}</code>
      <CopyButton text={text} label={say("Copy the command")} />
    </div>
  );
}

/** A word of a command line, quoted where a shell would take it apart. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
