/** Keys that do something wherever the focus is, unless it is where text is written. */
import { Keyboard } from "lucide-react";
import { createContext, use, useEffect, useEffectEvent, useMemo, useState, type ReactNode } from "react";

import { say } from "@/language/say";
import { Dialog } from "@/parts/dialog";

interface Shortcut {
  keys: string; // one key, or two after another: "g t"
  words: string;
}

interface Shortcuts {
  add: (shortcut: Shortcut, run: () => void) => () => void;
  explain: () => void;
}

const PATIENCE = 900; // milliseconds between the two keys of one shortcut

const ShortcutContext = createContext<Shortcuts | null>(null);

export function ShortcutProvider({ children }: { children: ReactNode }) {
  const [runs] = useState(() => new Map<Shortcut, () => void>());
  const [help, setHelp] = useState<readonly Shortcut[] | null>(null);

  useEffect(() => {
    let first = "";
    let pressedAt = 0;
    function pressed(event: KeyboardEvent) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isWriting(event.target)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      if (event.key === "?") {
        setHelp([...runs.keys()]);
        return;
      }
      const sequence = event.timeStamp - pressedAt < PATIENCE ? `${first} ${event.key}` : event.key;
      const run = find(runs, sequence) ?? find(runs, event.key);
      first = event.key;
      pressedAt = event.timeStamp;
      if (run !== undefined) {
        event.preventDefault();
        first = "";
        run();
      }
    }
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, [runs]);

  const shortcuts = useMemo<Shortcuts>(
    () => ({
      add(shortcut, run) {
        runs.set(shortcut, run);
        return () => runs.delete(shortcut);
      },
      explain: () => setHelp([...runs.keys()]),
    }),
    [runs],
  );

  return (
    <ShortcutContext value={shortcuts}>
      {children}
      <Dialog open={help !== null} title={say("Keys")} onClose={() => setHelp(null)}>
        <dl className="facts">
          {help?.map((each) => (
            <div key={each.keys} className="shortcut">
              <dt>
                {each.keys.split(" ").map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{each.words}</dd>
            </div>
          ))}
        </dl>
      </Dialog>
    </ShortcutContext>
  );
}

/** The way to the list of keys, for who does not know that there are any. */
export function KeysButton() {
  const shortcuts = use(ShortcutContext);
  return (
    <button
      type="button"
      className="button plain square"
      aria-label={say("Keys")}
      title={say("Keys")}
      onClick={shortcuts?.explain}
    >
      <Keyboard aria-hidden />
    </button>
  );
}

export function useExplainKeys(): () => void {
  return use(ShortcutContext)?.explain ?? (() => undefined);
}

/** Do something on a key, while the component is on the page. */
export function useShortcut(keys: string, words: string, run: () => void): void {
  const shortcuts = use(ShortcutContext);
  const pressed = useEffectEvent(run);
  useEffect(() => shortcuts?.add({ keys, words }, () => pressed()), [shortcuts, keys, words]);
}

function find(runs: Map<Shortcut, () => void>, keys: string): (() => void) | undefined {
  for (const [shortcut, run] of runs) if (shortcut.keys === keys) return run;
  return undefined;
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));
}
