/** Everything by the keyboard: Ctrl+K or Cmd+K, a few letters, Enter. Pages, actions, tasks and DAGs. */
import { useQuery } from "@tanstack/react-query";
import { Command as CommandIcon, CornerDownLeft, ListTodo, Workflow, type LucideIcon } from "lucide-react";
import { useEffect, useId, useState, type KeyboardEvent } from "react";
import { useNavigate } from "react-router";

import { nameOf } from "@/actions/subject";
import { foundByText } from "@/api/find";
import { say } from "@/language/say";
import { Dialog } from "@/parts/dialog";
import { shortId } from "@/parts/format";

import { fitting } from "./fitting";

import "./palette.css";

export interface Command {
  name: string;
  about: string;
  icon: LucideIcon;
  run: () => void;
}

const SHOWN = 12;
const PATIENCE = 150; // milliseconds after the last key until tasks are looked for

/** A button that opens it, and the keys that do. */
export function Palette({ commands }: { commands: readonly Command[] }) {
  const [open, setOpen] = useState(false);
  const keys = navigator.userAgent.includes("Mac") ? "⌘K" : "Ctrl K";
  useEffect(() => {
    function pressed(event: globalThis.KeyboardEvent) {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      // Browsers go to their own search box on it.
      event.preventDefault();
      if (document.querySelector("dialog[open]") === null) setOpen(true);
    }
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
  return (
    <>
      <button
        type="button"
        className="button plain palette-button"
        aria-label={say("{keys}: command palette", { keys })}
        title={say("Go anywhere, do anything")}
        onClick={() => setOpen(true)}
      >
        <CommandIcon aria-hidden />
        <kbd>{keys}</kbd>
      </button>
      <Dialog open={open} title={say("Go to, or do")} onClose={() => setOpen(false)}>
        <Choice commands={commands} onDone={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function Choice({ commands, onDone }: { commands: readonly Command[]; onDone: () => void }) {
  const id = useId();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const found = useFound(text.trim());
  const shown = [...fitting(commands, text), ...found].slice(0, SHOWN);
  const current = Math.min(chosen, shown.length - 1);

  function run(command: Command | undefined) {
    if (command === undefined) return;
    onDone();
    command.run();
  }

  function pressed(event: KeyboardEvent) {
    const moves: Record<string, () => void> = {
      ArrowDown: () => setChosen((current + 1) % Math.max(shown.length, 1)),
      ArrowUp: () => setChosen((current + shown.length - 1) % Math.max(shown.length, 1)),
      Enter: () => run(shown[current]),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    move();
  }

  return (
    <div className="palette">
      <input
        type="search"
        role="combobox"
        aria-label={say("A page, an action, a task or a DAG")}
        placeholder={say("A page, an action, a task's title or id")}
        aria-expanded={shown.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={shown.length > 0 ? `${id}-${current}` : undefined}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={pressed}
      />
      <ul id={`${id}-list`} role="listbox" aria-label={say("What may be meant")}>
        {shown.map((command, index) => (
          // The field keeps the focus and takes them with Enter.
          // eslint-disable-next-line jsx-a11y/click-events-have-key-events
          <li
            key={command.name + command.about}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === current}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => run(command)}
          >
            <command.icon aria-hidden />
            <span className="clip">{command.name}</span>
            <span className="quiet clip">{command.about}</span>
            {index === current && <CornerDownLeft aria-hidden />}
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p className="quiet">{say("Nothing is called so.")}</p>}
    </div>
  );
}

/** Tasks and DAGs with the text in their titles, or with this id. */
function useFound(text: string): Command[] {
  const navigate = useNavigate();
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const timer = window.setTimeout(() => setAsked(text), PATIENCE);
    return () => window.clearTimeout(timer);
  }, [text]);
  const { data } = useQuery({ ...foundByText(asked), enabled: asked.length > 1 });
  if (data === undefined || asked.length < 2 || text.length < 2) return [];
  return [
    ...data.tasks.map((task) => ({
      name: nameOf(task),
      about: say("task {id}", { id: shortId(task.id) }),
      icon: ListTodo,
      run: () => void navigate(`/tasks/${task.id}`),
    })),
    ...data.dags.map((dag) => ({
      name: dag.title || say("untitled"),
      about: say("DAG {id}", { id: shortId(dag.id) }),
      icon: Workflow,
      run: () => void navigate(`/dags/${dag.id}`),
    })),
  ];
}
