/** A form made from the JSON Schema of a question. It is the same on the page of approvals and behind a link. */
import { Plus, Send, Trash2 } from "lucide-react";
import { useEffect, useEffectEvent, useId, useRef, useState, type ReactNode, type SyntheticEvent } from "react";

import { Refused, wordsOf } from "@/api/problem";
import { say } from "@/language/say";
import { Json } from "@/parts/json";

import {
  begun,
  choicesOf,
  formatHint,
  inputType,
  isShort,
  kindOf,
  missing,
  placed,
  problemsOf,
  propertiesOf,
  titleOf,
  typed,
  wantedOf,
  withMember,
} from "./schema";
import type { Problems, Schema } from "./schema";

import "./question-form.css";

type Upload = (file: File) => Promise<string>;
type Update = (before: unknown) => unknown;

interface FormProps {
  schema: unknown;
  send: (data: unknown) => Promise<unknown>;
  upload: Upload | string; // stores a file and gives what tasks refer to it by; or why none can be sent here
  hindrance?: string | undefined; // why this person may not answer
}

export function QuestionForm({ schema, send, upload, hindrance }: FormProps) {
  const [answer, setAnswer] = useState(() => begun(schema));
  const [problems, setProblems] = useState<Problems>({});
  const [words, setWords] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [storing, setStoring] = useState(0); // files on their way, without which the answer is not whole
  const form = useRef<HTMLFormElement>(null);
  // The first field that is wrong is where one goes on. Only an effect is sure to run when the fields are marked.
  useEffect(() => {
    if (Object.keys(problems).length > 0)
      form.current?.querySelector<HTMLElement>("[aria-invalid=true], [data-invalid=true]")?.focus();
  }, [problems]);

  function complain(found: Problems, general: string | null) {
    setProblems(found);
    // What is wrong with the whole answer is said at its field, where it has one.
    setWords(kindOf(schema) === "object" ? (found[""] ?? general) : general);
  }

  function storedBy(store: Upload): Upload {
    return async (file) => {
      setStoring((number) => number + 1);
      return store(file).finally(() => setStoring((number) => number - 1));
    };
  }

  async function submit(event: SyntheticEvent) {
    event.preventDefault();
    if (busy || storing > 0 || hindrance !== undefined) return;
    if (answer === undefined) {
      complain({ "": say("is needed") }, say("Fill in what is needed."));
      return;
    }
    setBusy(true);
    try {
      await send(answer); // also where something lacks: the server finds what else is wrong, and all is said at once
    } catch (error) {
      const refused = error instanceof Refused ? placed(problemsOf(error.facts), schema, answer) : {};
      const found = Object.keys(refused).length > 0 ? { ...refused, ...missing(schema, answer) } : {};
      complain(found, Object.keys(found).length > 0 ? say("Correct what is marked.") : wordsOf(error));
    } finally {
      setBusy(false);
    }
  }

  return (
    <form className="question-form" ref={form} onSubmit={submit} noValidate>
      <Field
        schema={isObject(schema) ? schema : {}}
        name=""
        path=""
        isRequired
        value={answer}
        change={setAnswer}
        problems={problems}
        upload={typeof upload === "string" ? upload : storedBy(upload)}
      />
      <p className="question-words" role="alert">
        {words}
      </p>
      <div>
        <button
          className="button primary"
          disabled={busy || storing > 0}
          aria-disabled={hindrance !== undefined}
          title={hindrance}
        >
          <Send aria-hidden /> {say("Send the answer")}
        </button>
      </div>
    </form>
  );
}

interface FieldProps {
  schema: Schema;
  name: string;
  path: string; // of the value within the answer
  isRequired: boolean;
  value: unknown;
  change: (update: Update) => void; // of the value as it is by then: other fields may have changed meanwhile
  problems: Problems;
  upload: Upload | string;
}

function Field(props: FieldProps) {
  switch (kindOf(props.schema)) {
    case "object":
      return <Group {...props} />;
    case "list":
      return <List {...props} />;
    case "choice":
      return <Choices {...props} />;
    case "boolean":
      return <YesOrNo {...props} />;
    case "file":
      return <FileField {...props} />;
    case "json":
      return <JsonField {...props} />;
    default:
      return <TextField {...props} />;
  }
}

/** The label of a field, what it is for, and what is wrong with it, tied to its input for those who cannot see them. */
function Labelled({ props, children }: { props: FieldProps; children: (ids: Ids) => ReactNode }) {
  const id = useId();
  const problem = props.problems[props.path];
  const hint = props.schema.description;
  const described = [typeof hint === "string" && `${id}-hint`, problem !== undefined && `${id}-problem`].filter(
    Boolean,
  );
  return (
    <div className="field">
      <label htmlFor={id}>
        {titleOf(props.schema, props.name)}
        {!props.isRequired && <span className="quiet"> {say("(optional)")}</span>}
      </label>
      {children({
        id,
        "aria-invalid": problem !== undefined,
        "aria-required": props.isRequired,
        "aria-describedby": described.length > 0 ? described.join(" ") : undefined,
      })}
      {typeof hint === "string" && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {problem !== undefined && (
        <span className="field-problem" id={`${id}-problem`}>
          {problem}
        </span>
      )}
    </div>
  );
}

interface Ids {
  id: string;
  "aria-invalid": boolean;
  "aria-required": boolean;
  "aria-describedby": string | undefined;
}

function TextField(props: FieldProps) {
  const kind = kindOf(props.schema);
  // What is typed is kept as it is: the number of "2." is 2, and a field that showed it could not be typed on.
  const [text, setText] = useState(() => (isTypeable(props.value) ? String(props.value) : ""));
  function change(given: string) {
    setText(given);
    props.change(() => typed(kind, given));
  }
  const schema = { ...props.schema, description: props.schema.description ?? formatHint(props.schema) };
  return (
    <Labelled props={{ ...props, schema }}>
      {(ids) =>
        kind === "long" ? (
          <textarea {...ids} rows={5} value={text} onChange={(event) => change(event.target.value)} />
        ) : (
          <input
            {...ids}
            type={kind === "text" ? inputType(props.schema) : "text"}
            inputMode={kind === "number" ? "decimal" : undefined}
            autoComplete="off"
            value={text}
            onChange={(event) => change(event.target.value)}
          />
        )
      }
    </Labelled>
  );
}

function Choices(props: FieldProps) {
  const choices = choicesOf(props.schema) ?? [];
  const chosen = choices.findIndex((each) => JSON.stringify(each.value) === JSON.stringify(props.value));
  const choose = (number: number) => props.change(() => choices[number]?.value);
  return (
    <Labelled props={props}>
      {(ids) => (
        <select {...ids} value={chosen} onChange={(event) => choose(Number(event.target.value))}>
          <option value={-1}>{say("Choose…")}</option>
          {choices.map((each, number) => (
            <option key={number} value={number}>
              {each.title}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

/** Two buttons and not a box to tick: a box that nobody touched would say no. */
function YesOrNo(props: FieldProps) {
  const id = useId();
  const problem = props.problems[props.path];
  return (
    <fieldset className="field choice-field" aria-describedby={problem === undefined ? undefined : `${id}-problem`}>
      <legend className="label">
        {titleOf(props.schema, props.name)}
        {!props.isRequired && <span className="quiet"> {say("(optional)")}</span>}
      </legend>
      {typeof props.schema.description === "string" && <span className="hint">{props.schema.description}</span>}
      <div className="choice-row">
        {[true, false].map((each) => (
          <label key={String(each)}>
            <input
              type="radio"
              name={id}
              checked={props.value === each}
              data-invalid={problem !== undefined}
              onChange={() => props.change(() => each)}
            />
            {each ? say("Yes") : say("No")}
          </label>
        ))}
      </div>
      {problem !== undefined && (
        <span className="field-problem" id={`${id}-problem`}>
          {problem}
        </span>
      )}
    </fieldset>
  );
}

function FileField(props: FieldProps) {
  const [words, setWords] = useState<string | null>(null);
  const [stored, setStored] = useState<string | undefined>();
  const latest = useRef(0); // the number of the file that counts: of two, the one that was chosen last
  // Only an effect has the place that this field has by then: entries of a list move while a file is on its way.
  const place = useEffectEvent(() => props.change(() => stored));
  useEffect(() => {
    if (stored !== undefined) place();
  }, [stored]);

  async function store(file: File | undefined) {
    latest.current += 1;
    const mine = latest.current;
    setStored(undefined);
    setWords(null);
    props.change(() => undefined); // what was stored before is not what the field shows now
    if (file === undefined || typeof props.upload === "string") return;
    setWords(say("Storing {name}…", { name: file.name }));
    try {
      const reference = await props.upload(file);
      if (mine !== latest.current) return;
      setStored(reference);
      setWords(say("{name} is stored.", { name: file.name }));
    } catch (error) {
      if (mine === latest.current) setWords(wordsOf(error));
    }
  }
  return (
    <Labelled props={props}>
      {(ids) => (
        <>
          <input
            {...ids}
            type="file"
            disabled={typeof props.upload === "string"}
            onChange={(event) => void store(event.target.files?.[0])}
          />
          <span className="hint" role="status">
            {typeof props.upload === "string" ? props.upload : words}
          </span>
        </>
      )}
    </Labelled>
  );
}

/** A value in JSON, with what fits it: nobody can write it without. */
function JsonField(props: FieldProps) {
  const [text, setText] = useState(() => (props.value === undefined ? "" : JSON.stringify(props.value, null, 2)));
  function change(given: string) {
    setText(given);
    props.change(() => readAsJson(given));
  }
  const hint = props.schema.type === "object" ? say("An object in JSON.") : say("A text, or any value in JSON.");
  const about = typeof props.schema.description === "string" ? `${props.schema.description}\n\n${hint}` : hint;
  const wanted = wantedOf(props.schema);
  const rows = isShort(props.schema) ? 1 : 4;
  return (
    <Labelled props={{ ...props, schema: { ...props.schema, description: about } }}>
      {(ids) => (
        <>
          <textarea {...ids} rows={rows} value={text} onChange={(event) => change(event.target.value)} />
          {wanted !== null && (
            <details>
              <summary>{say("What fits here, as a JSON Schema")}</summary>
              <Json value={wanted} label={say("the schema")} />
            </details>
          )}
        </>
      )}
    </Labelled>
  );
}

function Group(props: FieldProps) {
  const fields = propertiesOf(props.schema).map(([name, each, isRequired]) => (
    <Field
      key={name}
      {...props}
      schema={each}
      name={name}
      path={props.path === "" ? name : `${props.path}/${name}`}
      isRequired={isRequired}
      value={isObject(props.value) ? props.value[name] : undefined}
      change={(update) =>
        props.change((before) => {
          const whole = withMember(before, name, update(isObject(before) ? before[name] : undefined));
          // A part that may be left out is left out again when its last field is emptied.
          return Object.keys(whole).length > 0 || props.isRequired ? whole : undefined;
        })
      }
    />
  ));
  return props.path === "" ? <>{fields}</> : <Fields props={props}>{fields}</Fields>;
}

/** Several fields that belong together: what they are, what they are for, and what is wrong with them as a whole. */
function Fields({ props, children }: { props: FieldProps; children: ReactNode }) {
  const id = useId();
  const problem = props.problems[props.path];
  const hint = props.schema.description;
  const described = [typeof hint === "string" && `${id}-hint`, problem !== undefined && `${id}-problem`].filter(
    Boolean,
  );
  return (
    <fieldset
      className="field-group"
      tabIndex={-1}
      data-invalid={problem !== undefined}
      aria-describedby={described.length > 0 ? described.join(" ") : undefined}
    >
      <legend className="label">
        {titleOf(props.schema, props.name)}
        {!props.isRequired && <span className="quiet"> {say("(optional)")}</span>}
      </legend>
      {typeof hint === "string" && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {children}
      {problem !== undefined && (
        <span className="field-problem" id={`${id}-problem`}>
          {problem}
        </span>
      )}
    </fieldset>
  );
}

function List(props: FieldProps) {
  const items: unknown[] = Array.isArray(props.value) ? props.value : [];
  const [ids, setIds] = useState(() => items.map((_, number) => number)); // by which an entry is known when others go
  const schema = isObject(props.schema.items) ? props.schema.items : {};
  const title = titleOf(props.schema, props.name);
  const adding = useRef<HTMLButtonElement>(null);
  const next = useRef<"entry" | "button" | null>(null); // where the keyboard goes on
  useEffect(() => {
    const entries = adding.current?.closest("fieldset")?.querySelectorAll<HTMLElement>(":scope > .list-item");
    const entry = [...(entries ?? [])].at(-1)?.querySelector<HTMLElement>("input, select, textarea");
    if (next.current !== null) (next.current === "entry" ? (entry ?? adding.current) : adding.current)?.focus();
    next.current = null;
  }, [ids]);

  function add() {
    next.current = "entry";
    setIds([...ids, Math.max(-1, ...ids) + 1]);
    props.change((before) => [...listed(before), begun(schema) ?? ""]);
  }

  function remove(number: number) {
    next.current = "button";
    setIds(ids.filter((_, at) => at !== number));
    props.change((before) => {
      const rest = listed(before).filter((_, at) => at !== number);
      // A list that may be left out, and began without entries, is left out again when its last entry is removed.
      return rest.length > 0 || props.isRequired || "default" in props.schema ? rest : undefined;
    });
  }

  return (
    <Fields props={props}>
      {items.map((item, number) => (
        <div className="list-item" key={ids[number]}>
          <Field
            {...props}
            schema={schema}
            name={`${title} ${number + 1}`}
            path={props.path === "" ? String(number) : `${props.path}/${number}`}
            isRequired
            value={item}
            change={(update) =>
              props.change((before) => listed(before).map((each, at) => (at === number ? update(each) : each)))
            }
          />
          <button
            type="button"
            className="button square plain"
            aria-label={say("Remove {title} {number}", { title, number: number + 1 })}
            onClick={() => remove(number)}
          >
            <Trash2 aria-hidden />
          </button>
        </div>
      ))}
      <div>
        <button type="button" className="button small" ref={adding} onClick={add}>
          <Plus aria-hidden /> {say("Add")}
        </button>
      </div>
    </Fields>
  );
}

function listed(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function readAsJson(text: string): unknown {
  try {
    return text.trim() === "" ? undefined : JSON.parse(text);
  } catch {
    return text; // which the server refuses unless text will do
  }
}

function isTypeable(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
