/** Decisions on dead letters: one, or all that died of the same thing. */
import { Ban, Megaphone, PencilLine, RotateCw, type LucideIcon } from "lucide-react";
import { useId, useState } from "react";

import { resolve, type DeadLetter, type Resolution } from "@/api/letters";
import { say } from "@/language/say";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";

import { Reason } from "./cancel";
import { MoneyField } from "./money-field";
import { nameOf } from "./subject";

interface Way {
  resolution: Resolution;
  label: string;
  icon: LucideIcon;
  explains: string;
  done: string;
  danger?: boolean;
}

const RETRY: Way = {
  resolution: "retry",
  label: say("Retry"),
  icon: RotateCw,
  explains: say("Its attempts are counted from zero again, and what waits behind it goes on when it completes."),
  done: say("To be tried again"),
};
const CANCEL: Way = {
  resolution: "cancel",
  label: say("Cancel"),
  icon: Ban,
  explains: say("It is given up, with what depends on it."),
  done: say("Cancelled"),
  danger: true,
};
const ESCALATE: Way = {
  resolution: "escalate",
  label: say("Escalate"),
  icon: Megaphone,
  explains: say("It stays dead, is marked as reviewed, and orchestrators hear of it."),
  done: say("Escalated"),
};

interface ResolveLettersProps {
  letters: readonly DeadLetter[];
  small?: boolean;
}

/** The ways to decide letters: the same for all of them. */
export function ResolveLetters({ letters, small = false }: ResolveLettersProps) {
  return [RETRY, CANCEL, ESCALATE].map((way) => (
    <Resolve key={way.resolution} way={way} letters={letters} small={small} />
  ));
}

/** The ways to decide one letter: also with a changed spec. */
export function ResolveLetter({ letter, small = false }: { letter: DeadLetter; small?: boolean }) {
  return (
    <>
      <Resolve way={RETRY} letters={[letter]} small={small} />
      <EditAndRetry letter={letter} small={small} />
      <Resolve way={CANCEL} letters={[letter]} small={small} />
      <Resolve way={ESCALATE} letters={[letter]} small={small} />
    </>
  );
}

function Resolve({ way, letters, small }: { way: Way; letters: readonly DeadLetter[]; small: boolean }) {
  const [reason, setReason] = useState("");
  const [only] = letters;
  const isOne = letters.length === 1;
  const which = isOne && only ? `“${nameOf(only)}”` : say("all {number}", { number: letters.length });
  return (
    <Action
      label={isOne ? way.label : say("{label} all {number}", { label: way.label, number: letters.length })}
      icon={way.icon}
      needs="steer"
      danger={way.danger ?? false}
      small={small}
      title={`${way.label} ${which}`}
      confirm={
        isOne ? way.label : say("{label} {letters|# letter|# letters}", { label: way.label, letters: letters.length })
      }
      command={commandOf(letters, way.resolution, reason)}
      times={letters.length}
      run={(via) => each(letters, (letter) => resolve(via, letter.id, { resolution: way.resolution, reason }))}
      done={isOne ? way.done : `${way.done}: ${say("{letters|# letter|# letters}", { letters: letters.length })}`}
    >
      <p>{isOne ? way.explains : `${way.explains} ${say("This is done to each of them.")}`}</p>
      <Reason value={reason} onChange={setReason} />
    </Action>
  );
}

function EditAndRetry({ letter, small }: { letter: DeadLetter; small: boolean }) {
  const before = { prompt: letter.spec.prompt, payload: JSON.stringify(letter.spec.payload, null, 2) };
  const [prompt, setPrompt] = useState(before.prompt);
  const [payload, setPayload] = useState(before.payload);
  const [terms, setTerms] = useState(termsOf(letter));
  const [reason, setReason] = useState("");
  const fields = useId();
  const data = parsed(payload);
  // Only what was changed is sent: the rest stays exactly as it is stored.
  const spec: Record<string, unknown> = changedTerms(termsOf(letter), terms);
  if (prompt !== before.prompt) spec["prompt"] = prompt;
  if (payload !== before.payload) spec["payload"] = data?.value;
  const isChanged = Object.keys(spec).length > 0;
  return (
    <Action
      label={say("Edit and retry")}
      icon={PencilLine}
      needs="steer"
      small={small}
      wide
      title={say("Edit “{letter}” and retry it", { letter: nameOf(letter) })}
      command={commandOf([letter], "modify_and_retry", reason, spec)}
      ready={data !== null && isChanged}
      onOpen={() => {
        setPrompt(before.prompt);
        setPayload(before.payload);
        setTerms(termsOf(letter));
      }}
      run={(via) => resolve(via, letter.id, { resolution: "modify_and_retry", reason, spec })}
      done={say("To be tried again, as edited")}
    >
      <div className="field">
        <label htmlFor={`${fields}-prompt`}>{say("Prompt")}</label>
        <textarea id={`${fields}-prompt`} rows={8} value={prompt} onChange={(event) => setPrompt(event.target.value)} />
      </div>
      <div className="field">
        <label htmlFor={`${fields}-payload`}>{say("Payload (JSON)")}</label>
        <textarea
          id={`${fields}-payload`}
          className="mono"
          rows={6}
          spellCheck={false}
          value={payload}
          aria-invalid={data === null}
          aria-describedby={`${fields}-hint`}
          onChange={(event) => setPayload(event.target.value)}
        />
        <span className="hint" id={`${fields}-hint`} aria-live="polite">
          {data === null
            ? say("This is not JSON yet.")
            : isChanged
              ? ""
              : say("Change something, or retry it as it is.")}
        </span>
      </div>
      <TermsFields terms={terms} onChange={setTerms} />
      <Reason value={reason} onChange={setReason} />
    </Action>
  );
}

/** What an attempt may use, as it is written in the form. */
interface Terms {
  models: string; // separated by commas, best first
  cost: string; // empty: no limit
  attempts: string;
}

function termsOf({ spec, max_attempts }: DeadLetter): Terms {
  const { model_preferences, max_cost_usd } = spec.constraints;
  return {
    models: model_preferences.join(", "),
    cost: max_cost_usd ?? "",
    attempts: String(max_attempts),
  };
}

function changedTerms(before: Terms, after: Terms): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  if (after.models !== before.models) changed["model_preferences"] = listed(after.models);
  if (after.cost !== before.cost) changed["max_cost_usd"] = after.cost === "" ? null : after.cost;
  if (after.attempts !== before.attempts) changed["max_attempts"] = Number(after.attempts);
  return changed;
}

function listed(text: string): string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

function TermsFields({ terms, onChange }: { terms: Terms; onChange: (terms: Terms) => void }) {
  const fields = useId();
  return (
    <>
      <div className="field">
        <label htmlFor={`${fields}-models`}>{say("Models")}</label>
        <input
          id={`${fields}-models`}
          value={terms.models}
          aria-describedby={`${fields}-models-hint`}
          onChange={(event) => onChange({ ...terms, models: event.target.value })}
        />
        <span className="hint" id={`${fields}-models-hint`}>
          {say("Best first, separated by commas; none: any.")}
        </span>
      </div>
      <MoneyField
        label={say("Most that an attempt may cost")}
        hint={say("In dollars; nothing: no limit.")}
        value={terms.cost}
        onChange={(cost) => onChange({ ...terms, cost })}
      />
      <div className="field">
        <label htmlFor={`${fields}-attempts`}>{say("Attempts")}</label>
        <input
          id={`${fields}-attempts`}
          type="number"
          min={1}
          max={1000}
          required
          value={terms.attempts}
          onChange={(event) => onChange({ ...terms, attempts: event.target.value })}
        />
      </div>
    </>
  );
}

function parsed(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null; // somebody is still typing
  }
}

/** One after the other: a refusal stops there, and what was decided before it stands. */
async function each(letters: readonly DeadLetter[], decide: (letter: DeadLetter) => Promise<unknown>): Promise<void> {
  for (const letter of letters) await decide(letter);
}

function commandOf(
  letters: readonly DeadLetter[],
  resolution: Resolution,
  reason: string,
  spec?: Record<string, unknown>,
): string {
  const options = [
    reason === "" ? "" : ` --reason ${quoted(reason)}`,
    spec === undefined ? "" : ` --spec ${quoted(JSON.stringify(spec))}`,
  ].join("");
  if (letters.length === 1) return `taskyard dead resolve ${letters[0]?.id} ${resolution}${options}`;
  const ids = letters.map(({ id }) => id).join(" ");
  return `for task in ${ids}; do taskyard dead resolve $task ${resolution}${options}; done`;
}
