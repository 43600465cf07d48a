import { useRef, type KeyboardEvent } from "react";

interface Tab<Name extends string> {
  name: Name;
  label: string;
}

interface TabsProps<Name extends string> {
  label: string; // what is chosen between
  tabs: readonly Tab<Name>[];
  chosen: Name;
  onChoose: (name: Name) => void;
}

/** A choice between views of the same thing. Arrows go from one to the next. */
export function Tabs<Name extends string>({ label, tabs, chosen, onChoose }: TabsProps<Name>) {
  const list = useRef<HTMLDivElement>(null);

  function pressed(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const index = (tabs.findIndex(({ name }) => name === chosen) + step + tabs.length) % tabs.length;
    const next = tabs[index];
    if (next === undefined) return;
    event.preventDefault();
    onChoose(next.name);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[index]?.focus();
  }

  return (
    // eslint-disable-next-line jsx-a11y/interactive-supports-focus -- its chosen tab has the focus
    <div className="segments" role="tablist" aria-label={label} ref={list} onKeyDown={pressed}>
      {tabs.map(({ name, label: words }) => (
        <button
          key={name}
          type="button"
          role="tab"
          aria-selected={name === chosen}
          tabIndex={name === chosen ? 0 : -1}
          onClick={() => onChoose(name)}
        >
          {words}
        </button>
      ))}
    </div>
  );
}
