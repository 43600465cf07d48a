/** A trigger made or changed: what it listens to, only on what, and what it makes. */
import { Pencil, Plus } from "lucide-react";
import { useState } from "react";

import { addTrigger, type Trigger } from "@/api/sources";
import { say } from "@/language/say";
import { Labelled } from "@/pages/new/task-form";
import { Action } from "@/parts/action";
import { Command, quoted } from "@/parts/copy";
import { Dialog } from "@/parts/dialog";

import { useWantedNew } from "./wanted-new";
import { WorkForm, type Work } from "./work-form";

/** What each source is asked, with an example to begin with. */
const SOURCES: Record<string, { words: string; settings: Record<string, unknown> }> = {
  webhook: { words: say("A signed delivery comes"), settings: { scheme: "standard" } },
  dag: { words: say("A DAG ends"), settings: { status: ["completed"], tag: null, title: null, type: null } },
  rule: {
    words: say("A figure turns bad"),
    settings: { measure: "failure_rate", type: null, above: 0.4, over: 50, window_sec: 86_400 },
  },
  files: {
    words: say("A file changes"),
    settings: { path: "/var/spool/inbox", patterns: ["*"], changes: ["added", "modified"] },
  },
};

export function AddTrigger() {
  const first = { source: "webhook", settings: SOURCES["webhook"]?.settings ?? {}, only: {} };
  return <TriggerForm start={{ id: "", ...first }} work={{ task: { type: "", prompt: "" } }} isNew />;
}

export function EditTrigger({ trigger }: { trigger: Trigger }) {
  const { id, source, settings, only, paused } = trigger;
  return (
    <TriggerForm start={{ id, source, settings, only }} work={trigger.template as Work} isNew={false} paused={paused} />
  );
}

interface TriggerFormProps {
  start: { id: string; source: string; settings: Record<string, unknown>; only: Record<string, unknown> };
  work: Work;
  isNew: boolean;
  paused?: boolean;
}

function TriggerForm({ start, work, isNew, paused = false }: TriggerFormProps) {
  const [id, setId] = useState(start.id);
  const [source, setSource] = useState(start.source);
  const [settings, setSettings] = useState(() => JSON.stringify(start.settings, null, 2));
  const [only, setOnly] = useState(() => JSON.stringify(start.only));
  const [made, setMade] = useState<Work | null>(work);
  const [secret, setSecret] = useState<string | null>(null);
  const wanted = useWantedNew("trigger", isNew);
  const given = { settings: objectIn(settings), only: objectIn(only) };
  const isReady = id !== "" && made !== null && given.settings !== null && given.only !== null;
  return (
    <>
      <Action
        label={isNew ? say("Add") : say("Edit {id}", { id: start.id })}
        icon={isNew ? Plus : Pencil}
        needs="operate"
        small
        bare={!isNew}
        wide
        startsOpen={wanted}
        title={isNew ? say("Add a trigger") : say("Edit {id}", { id: start.id })}
        confirm={isNew ? say("Add it") : say("Change it")}
        command={commandOf(id, source, settings, only, made, isNew)}
        ready={isReady}
        onOpen={() => {
          setId(start.id);
          setSource(start.source);
          setSettings(JSON.stringify(start.settings, null, 2));
          setOnly(JSON.stringify(start.only));
          setMade(work);
        }}
        run={async (via) => {
          const body = { id, source, settings: given.settings ?? {}, only: given.only, paused, replace: !isNew };
          setSecret(await addTrigger(via, { ...body, ...(made ?? {}) }));
        }}
        done={() => (isNew ? say("{id} is added", { id }) : say("{id} is changed", { id }))}
      >
        <div className="schedule-form">
          <Labelled label={say("Name")} hint={say("Letters, digits, dots and dashes")}>
            {(field) => (
              <input id={field} value={id} readOnly={!isNew} onChange={(event) => setId(event.target.value)} />
            )}
          </Labelled>
          <Labelled label={say("When")}>
            {(field) => (
              <select
                id={field}
                value={source}
                disabled={!isNew}
                onChange={(event) => {
                  setSource(event.target.value);
                  setSettings(JSON.stringify(SOURCES[event.target.value]?.settings ?? {}, null, 2));
                }}
              >
                {Object.entries(SOURCES).map(([name, { words }]) => (
                  <option key={name} value={name}>
                    {words}
                  </option>
                ))}
                {!(source in SOURCES) && <option value={source}>{source}</option>}
              </select>
            )}
          </Labelled>
          <Labelled label={say("What it listens to (JSON)")}>
            {(field) => (
              <textarea
                id={field}
                className="mono"
                rows={6}
                spellCheck={false}
                value={settings}
                aria-invalid={given.settings === null}
                onChange={(event) => setSettings(event.target.value)}
              />
            )}
          </Labelled>
          <Labelled
            label={say("Only where (JSON)")}
            hint={say("{example}: what stands at a path of what came", { example: '{"action": "opened"}' })}
          >
            {(field) => (
              <textarea
                id={field}
                className="mono"
                rows={6}
                spellCheck={false}
                value={only}
                aria-invalid={given.only === null}
                onChange={(event) => setOnly(event.target.value)}
              />
            )}
          </Labelled>
        </div>
        <WorkForm start={work} onChange={setMade} />
      </Action>
      <Dialog
        open={secret !== null}
        title={say("The secret of the hook")}
        onClose={() => setSecret(null)}
        footer={
          <button type="button" className="button primary" onClick={() => setSecret(null)}>
            {say("I have it")}
          </button>
        }
      >
        <p>{say("Deliveries are signed with it. It is shown this once.")}</p>
        <Command text={secret ?? ""} />
      </Dialog>
    </>
  );
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text) as unknown;
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null; // somebody is still typing
  }
}

/** The options of `taskyard triggers add` by the settings of its source. */
const OPTIONS: Record<string, Record<string, string>> = {
  dag: { status: "--status", tag: "--tag", title: "--title", type: "--ends-in" },
  rule: { measure: "--measure", type: "--of-type", above: "--above", over: "--over", window_sec: "--window" },
  files: { patterns: "--pattern", changes: "--change" },
};

function commandOf(
  id: string,
  source: string,
  settings: string,
  only: string,
  made: Work | null,
  isNew: boolean,
): string {
  const given = objectIn(settings) ?? {};
  const work = made === null ? [] : "dag" in made ? ["--dag", "dag.json"] : ["--task", JSON.stringify(made.task)];
  const conditions = Object.keys(objectIn(only) ?? {}).length > 0 && source !== "rule" ? ["--only", only] : [];
  const options = Object.entries(OPTIONS[source] ?? {}).flatMap(([name, option]) =>
    [given[name] ?? []].flat().flatMap((value) => [option, typeof value === "string" ? value : JSON.stringify(value)]),
  );
  const head =
    source === "webhook"
      ? ["hooks", "add", id || "ID", ...(given["scheme"] === "github" ? ["--github"] : [])]
      : ["triggers", "add", source, id || "ID", ...(source === "files" ? [String(given["path"])] : [])];
  return ["taskyard", ...head, ...options, ...conditions, ...work, ...(isNew ? [] : ["--replace"])]
    .map(quoted)
    .join(" ");
}
