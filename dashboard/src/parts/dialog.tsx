import { X } from "lucide-react";
import { useEffect, useId, useRef, type ReactNode, type SyntheticEvent } from "react";

import { say } from "@/language/say";

interface DialogProps {
  title: string;
  open: boolean;
  onClose: () => void;
  onSubmit?: () => void;
  footer?: ReactNode;
  wide?: boolean;
  children: ReactNode;
}

/** A dialog of the browser's own: it holds the focus, Escape closes it, and what is behind it is inert. */
export function Dialog({ open, ...rest }: DialogProps) {
  return open ? <OpenDialog {...rest} /> : null;
}

function OpenDialog({ title, onClose, onSubmit, footer, wide = false, children }: Omit<DialogProps, "open">) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    // Where one begins: the first thing to be filled in, or the deed itself.
    shown?.querySelector<HTMLElement>(".dialog-body :is(input, textarea, select), footer .primary")?.focus();
    return () => {
      shown?.close();
      // It is out of the page by now, so the browser does not do this by itself.
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);

  function submit(event: SyntheticEvent) {
    event.preventDefault();
    onSubmit?.();
  }

  return (
    // A click beside it closes it, as Escape does for those without a mouse.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <dialog
      ref={dialog}
      className={`dialog${wide ? " wide" : ""}`}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
      // Keys that mean something on the page behind mean nothing here.
      onKeyDown={(event) => event.stopPropagation()}
    >
      <form onSubmit={submit}>
        <header>
          <h2 id={heading}>{title}</h2>
          <button type="button" className="button plain square" aria-label={say("Close")} onClick={onClose}>
            <X aria-hidden />
          </button>
        </header>
        <div className="dialog-body">{children}</div>
        {footer !== undefined && <footer>{footer}</footer>}
      </form>
    </dialog>
  );
}
