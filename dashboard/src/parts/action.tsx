/** Something that a person can do: a button, then what will happen with its command and its call, then the deed. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Eye, type LucideIcon } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";

import { api, rehearsed, type Api } from "@/api/client";
import { wordsOf } from "@/api/problem";
import { say } from "@/language/say";
import { askAgain } from "@/live/live";
import { useMay, type Right } from "@/session/session";
import { useToast } from "@/shell/toasts";

import { Command } from "./copy";
import { Dialog } from "./dialog";
import { curlOf } from "./twin";

interface Deed {
  title: string; // of the dialog: what is about to be done
  confirm?: string; // on the button that does it
  command: string; // the equivalent on the command line
  times?: number; // that the call is made, once for each of so many
  danger?: boolean;
  wide?: boolean;
  ready?: boolean; // whether everything it needs was given
  run: (via: Api) => Promise<unknown>; // what it asks of the server, through this client alone
  done: string | (() => string); // what to say when it is done
  children?: ReactNode; // what will happen, and what it needs to know
}

interface ActionProps extends Deed {
  label: string;
  icon: LucideIcon;
  needs: Right;
  small?: boolean;
  bare?: boolean; // the icon alone
  disabled?: string | undefined; // why it makes no sense now
  onOpen?: () => void;
  startsOpen?: boolean; // where the address asks for it
}

/** A button that opens the dialog of a deed. Whoever may not do it sees the button and hears why. */
export function Action({
  label,
  icon: Icon,
  needs,
  small,
  bare,
  disabled,
  onOpen,
  startsOpen = false,
  ...deed
}: ActionProps) {
  const tell = useToast();
  const { may, why } = useMay(needs);
  const [open, setOpen] = useState(startsOpen && may);
  const hindrance = may ? disabled : why;
  const look = ["button", small && "small", bare && "square", bare && "plain", deed.danger && "danger"]
    .filter(Boolean)
    .join(" ");
  return (
    <>
      <button
        type="button"
        className={look}
        // Not `disabled`: the reason must be reachable by keyboard too.
        aria-disabled={hindrance !== undefined}
        aria-label={bare ? label : undefined}
        title={hindrance ?? label}
        onClick={() => {
          if (hindrance !== undefined) {
            tell("bad", hindrance);
            return;
          }
          onOpen?.();
          setOpen(true);
        }}
      >
        <Icon aria-hidden />
        {!bare && label}
      </button>
      <DeedDialog open={open} onClose={() => setOpen(false)} {...deed} confirm={deed.confirm ?? label} />
    </>
  );
}

interface DeedDialogProps extends Deed {
  open: boolean;
  onClose: () => void;
}

function DeedDialog({
  open,
  onClose,
  title,
  confirm,
  command,
  times = 1,
  danger,
  wide,
  ready = true,
  run,
  done,
  children,
}: DeedDialogProps) {
  const client = useQueryClient();
  const tell = useToast();
  const { call, isLatest } = useCallOf(run, open && ready);
  const deed = useMutation({
    mutationFn: () => run(api),
    async onSuccess() {
      onClose();
      tell("good", typeof done === "string" ? done : done());
      await askAgain(client);
    },
  });

  function close() {
    deed.reset();
    onClose();
  }

  return (
    <Dialog
      open={open}
      title={title}
      wide={wide ?? false}
      onClose={close}
      onSubmit={() => {
        if (ready && !deed.isPending) deed.mutate();
      }}
      footer={
        <>
          <button type="button" className="button" onClick={close}>
            {say("Not now")}
          </button>
          <button className={`button primary${danger ? " danger" : ""}`} disabled={!ready || deed.isPending}>
            {confirm}
          </button>
        </>
      }
    >
      {children}
      <div className="field">
        <span className="label">{say("The same from a shell")}</span>
        <Command text={command} />
      </div>
      {call !== null && (
        <div className="field deed-call" aria-busy={!isLatest}>
          <span className="label">
            {times === 1 ? say("The same over HTTP") : say("The same over HTTP, for the first of {times}", { times })}
          </span>
          <Command text={call} />
        </div>
      )}
      {deed.error !== null && (
        <p className="note tone-bad" role="alert">
          {wordsOf(deed.error)}
        </p>
      )}
    </Dialog>
  );
}

interface Rehearsal {
  run: Deed["run"];
  call: string | null;
}

/** The call that the deed would make, for a shell; null while something that it needs is missing. */
function useCallOf(run: Deed["run"], isWanted: boolean): { call: string | null; isLatest: boolean } {
  const [known, setKnown] = useState<Rehearsal | null>(null);
  useEffect(() => {
    if (!isWanted) return;
    let isLatest = true;
    void rehearsed(run).then((sent) => {
      if (isLatest) setKnown({ run, call: sent && curlOf(sent) });
    });
    return () => {
      isLatest = false;
    };
  }, [run, isWanted]);
  return { call: isWanted && known ? known.call : null, isLatest: known?.run === run };
}

/** What a viewer is told once, at the top of a page full of things to do. */
export function ViewerNote() {
  const { may, why } = useMay("steer");
  if (may) return null;
  return (
    <p className="note tone-info">
      <Eye aria-hidden /> {why}
    </p>
  );
}
