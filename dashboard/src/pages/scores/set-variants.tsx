/** Says in which variants the tasks of a type are put in from now on. */
import { FlaskConical } from "lucide-react";
import { useId, useState } from "react";

import { setVariants, type TypeVariants } from "@/api/scores";
import { say } from "@/language/say";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";

const EXAMPLE = [
  { name: "plain", share: 3 },
  { name: "careful", share: 1, prompt: `${say("Check each fact.")} {prompt}` },
];

export function SetVariants({ type, known }: { type: string; known: TypeVariants | undefined }) {
  const [field, types] = [useId(), useId()];
  const [asked, setAsked] = useState(type);
  const [text, setText] = useState("");
  const given = parsed(text);
  return (
    <Action
      label={say("Set variants")}
      icon={FlaskConical}
      needs="operate"
      title={say("Set the variants of a type")}
      confirm={say("Set them")}
      wide
      command={`taskyard variants set ${quoted(asked || "TYPE")} ${quoted(given === null ? "[…]" : JSON.stringify(given))}`}
      ready={asked !== "" && given !== null}
      onOpen={() => {
        setAsked(type);
        setText(JSON.stringify(known === undefined ? EXAMPLE : written(known), null, 2));
      }}
      run={(via) => setVariants(via, asked, given ?? [])}
      done={
        given?.length === 0
          ? say("{type} has no variants any more", { type: asked })
          : say("{type} has {number|# variant|# variants}", { type: asked, number: given?.length ?? 0 })
      }
    >
      <p>
        {say(
          "Tasks that are put in from now on are one of these, by their shares. A variant may have {fields} and {last}; an empty list ends it.",
          {
            fields: (
              <>
                <code>model_preferences</code>, <code>fallback_models</code>, <code>prompt</code>
              </>
            ),
            last: <code>payload</code>,
          },
        )}
      </p>
      <div className="field">
        <label htmlFor={types}>{say("Type of task")}</label>
        <input id={types} value={asked} maxLength={255} onChange={(event) => setAsked(event.target.value)} />
      </div>
      <div className="field">
        <label htmlFor={field}>{say("Variants")}</label>
        <textarea
          id={field}
          rows={12}
          spellCheck={false}
          aria-invalid={given === null}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {given === null && <p className="tone-bad scores-wrong">{say("This is no JSON list of objects.")}</p>}
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
