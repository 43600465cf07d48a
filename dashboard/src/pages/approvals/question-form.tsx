/** A form made from the JSON Schema of a question. It is the same on the page of approvals and behind a link. */
import { Plus, Send, Trash2 } from "lucide-react";
import { useEffect, useId, useRef, useState, type ReactNode, type SyntheticEvent } from "react";

import { Refused, wordsOf } from "@/api/problem";
import { say } from "@/language/say";

import {
  begun,
  choicesOf,
  inputType,
  kindOf,
  missing,
  problemsOf,
  propertiesOf,
  titleOf,
  typed,
  withMember,
} from "./schema";
import type { Problems, Schema } from "./schema";

import "./question-form.css";

type Upload = (file: File) => Promise<string>;

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
      const refused = error instanceof Refused ? problemsOf(error.facts) : {};
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
  change: (value: unknown) => void;
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
  const text = typeof props.value === "string" || typeof props.value === "number" ? String(props.value) : "";
  const change = (given: string) => props.change(typed(kind, given));
  return (
    <Labelled props={props}>
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
  return (
    <Labelled props={props}>
      {(ids) => (
        <select {...ids} value={chosen} onChange={(event) => props.change(choices[Number(event.target.value)]?.value)}>
          <option value={-1}>{say("Choose…")}</option>
          {choices.map((each, number) => (
            <option key={each.title} value={number}>
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
              onChange={() => props.change(each)}
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
  async function store(file: File | undefined) {
    if (file === undefined || typeof props.upload === "string") return;
    setWords(say("Storing {name}…", { name: file.name }));
    try {
      props.change(await props.upload(file));
      setWords(say("{name} is stored.", { name: file.name }));
    } catch (error) {
      setWords(wordsOf(error));
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

function JsonField(props: FieldProps) {
  const [text, setText] = useState(() => (props.value === undefined ? "" : JSON.stringify(props.value, null, 2)));
  function change(given: string) {
    setText(given);
    try {
      props.change(given.trim() === "" ? undefined : JSON.parse(given));
    } catch {
      props.change(given); // as text, which the server refuses unless text will do
    }
  }
  const hint = props.schema.type === "object" ? say("An object in JSON.") : say("A text, or any value in JSON.");
  const described = { ...props.schema, description: props.schema.description ?? hint };
  return (
    <Labelled props={{ ...props, schema: described }}>
      {(ids) => <textarea {...ids} rows={4} value={text} onChange={(event) => change(event.target.value)} />}
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
      change={(member) => {
        const whole = withMember(props.value, name, member);
        // A part that may be left out is left out again when its last field is emptied.
        props.change(Object.keys(whole).length > 0 || props.isRequired ? whole : undefined);
      }}
    />
  ));
  if (props.path === "") return <>{fields}</>;
  return (
    <fieldset className="field-group">
      <legend className="label">
        {titleOf(props.schema, props.name)}
        {!props.isRequired && <span className="quiet"> {say("(optional)")}</span>}
      </legend>
      {fields}
    </fieldset>
  );
}

function List(props: FieldProps) {
  const items: unknown[] = Array.isArray(props.value) ? props.value : [];
  const schema = isObject(props.schema.items) ? props.schema.items : {};
  const title = titleOf(props.schema, props.name);
  const problem = props.problems[props.path];
  return (
    <fieldset className="field-group">
      <legend className="label">
        {title}
        {!props.isRequired && <span className="quiet"> {say("(optional)")}</span>}
      </legend>
      {items.map((item, number) => (
        // Items have no names of their own: their place is all there is.
        <div className="list-item" key={number}>
          <Field
            {...props}
            schema={schema}
            name={`${title} ${number + 1}`}
            path={props.path === "" ? String(number) : `${props.path}/${number}`}
            isRequired
            value={item}
            change={(value) => props.change(items.map((each, at) => (at === number ? value : each)))}
          />
          <button
            type="button"
            className="button square plain"
            aria-label={say("Remove {title} {number}", { title, number: number + 1 })}
            onClick={() => props.change(items.filter((_, at) => at !== number))}
          >
            <Trash2 aria-hidden />
          </button>
        </div>
      ))}
      {problem !== undefined && <span className="field-problem">{problem}</span>}
      <div>
        <button type="button" className="button small" onClick={() => props.change([...items, begun(schema) ?? ""])}>
          <Plus aria-hidden /> {say("Add")}
        </button>
      </div>
    </fieldset>
  );
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
