/** Says in which variants the tasks of a type are put in from now on. */
import { FlaskConical } from "lucide-react";
import { useId, useState } from "react";

import { setVariants, type TypeVariants } from "@/api/scores";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";

const EXAMPLE = [
  { name: "plain", share: 3 },
  { name: "careful", share: 1, prompt: "Check each fact. {prompt}" },
];

export function SetVariants({ type, known }: { type: string; known: TypeVariants | undefined }) {
  const [field, types] = [useId(), useId()];
  const [asked, setAsked] = useState(type);
  const [text, setText] = useState("");
  const given = parsed(text);
  return (
    <Action
      label="Set variants"
      icon={FlaskConical}
      needs="operate"
      title="Set the variants of a type"
      confirm="Set them"
      wide
      command={`taskyard variants set ${quoted(asked || "TYPE")} ${quoted(given === null ? "[…]" : JSON.stringify(given))}`}
      ready={asked !== "" && given !== null}
      onOpen={() => {
        setAsked(type);
        setText(JSON.stringify(known === undefined ? EXAMPLE : written(known), null, 2));
      }}
      run={() => setVariants(asked, given ?? [])}
      done={given?.length === 0 ? `${asked} has no variants any more` : `${asked} has ${given?.length ?? 0} variants`}
    >
      <p>
        Tasks that are put in from now on are one of these, by their shares. A variant may have{" "}
        <code>model_preferences</code>, <code>fallback_models</code>, <code>prompt</code> and <code>payload</code>; an
        empty list ends it.
      </p>
      <div className="field">
        <label htmlFor={types}>Type of task</label>
        <input id={types} value={asked} maxLength={255} onChange={(event) => setAsked(event.target.value)} />
      </div>
      <div className="field">
        <label htmlFor={field}>Variants</label>
        <textarea
          id={field}
          rows={12}
          spellCheck={false}
          aria-invalid={given === null}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {given === null && <p className="tone-bad scores-wrong">This is no JSON list of objects.</p>}
      </div>
    </Action>
  );
}

function written(known: TypeVariants): Record<string, unknown>[] {
  return known.variants.map(({ name, share, values }) => ({ name, share, ...values }));
}

function parsed(text: string): Record<string, unknown>[] | null {
  try {
    const value: unknown = JSON.parse(text);
    const isList = Array.isArray(value) && value.every((each) => typeof each === "object" && each !== null);
    return isList ? (value as Record<string, unknown>[]) : null;
  } catch {
    return null;
  }
}
