/** Who did what: newest first, narrowed down by the address, and exported. */
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { CalendarClock, Download, ShieldCheck } from "lucide-react";
import { useId, useState } from "react";
import { Link } from "react-router";

import { auditLog, auditPolicy, collectAudit, keepAudit, type AuditEntry } from "@/api/audit";
import { wordsOf } from "@/api/problem";
import { say } from "@/language/say";
import { Action } from "@/parts/action";
import { quoted } from "@/parts/copy";
import { csvOf, jsonLines, saveFile } from "@/parts/download";
import { Broken, Empty, Loading } from "@/parts/empty";
import { FilterFields, useAddressFilter, type FilterFieldWords } from "@/parts/filter-fields";
import { shortId } from "@/parts/format";
import { Card, Page } from "@/parts/page";
import { Ago, At } from "@/parts/time";
import { useMay } from "@/session/session";
import { useToast } from "@/shell/toasts";

import { asCommand, AUDIT_FIELDS, factsOf, placeOf, type AuditField, type AuditFilter } from "./words";
import "./audit.css";

const FIELDS: readonly FilterFieldWords<AuditField>[] = [
  { name: "who", label: say("Who"), hint: "human:ada" },
  {
    name: "action",
    label: say("Act"),
    hint: "task.cancelled, task.*",
    known: ["task.*", "dag.*", "agent.*", "queue.*", "breaker.*", "token.*", "session.*", "schedule.*", "trigger.*"],
  },
  { name: "object", label: say("To what"), hint: "agent:coder, task_…" },
  { name: "since", label: say("From"), hint: "", type: "datetime-local" },
  { name: "until", label: say("Until"), hint: "", type: "datetime-local" },
];

export default function Audit() {
  const { may, why } = useMay("operate");
  return (
    <Page title={say("Audit")} lead={say("What people, orchestrators and operators did. Nobody can change an entry.")}>
      {may ? (
        <Log />
      ) : (
        <Empty icon={ShieldCheck} title={say("Not for everybody")}>
          {why}
        </Empty>
      )}
    </Page>
  );
}

function Log() {
  const filtering = useAddressFilter(AUDIT_FIELDS);
  const { filter } = filtering;
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(auditLog(filter));
  const found = data?.pages.flatMap((page) => page.entries);
  return (
    <>
      <FilterFields fields={FIELDS} filtering={filtering} />
      <Card
        title={say("Entries")}
        aside={<Export filter={filter} />}
        twin={{ command: asCommand("ls", filter), path: `/api/audit?${new URLSearchParams(filter).toString()}` }}
      >
        {error !== null && found === undefined && <Broken error={error} retry={() => void refetch()} />}
        {error === null && found === undefined && <Loading rows={8} />}
        {found?.length === 0 && <Nothing isNarrow={filtering.isNarrow} isMore={hasNextPage} />}
        {found !== undefined && found.length > 0 && (
          <Entries entries={found} onWho={(who) => filtering.set("who", who)} />
        )}
      </Card>
      {hasNextPage && (
        <div>
          <button type="button" className="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {say("Look at older ones")}
          </button>
        </div>
      )}
      <Kept />
    </>
  );
}

function Nothing({ isNarrow, isMore }: { isNarrow: boolean; isMore: boolean }) {
  if (isMore)
    return (
      <Empty icon={ShieldCheck} title={say("Nothing among the newest")}>
        {say("The newest 5,000 entries hold nothing of the kind. There are older ones.")}
      </Empty>
    );
  return isNarrow ? (
    <Empty icon={ShieldCheck} title={say("Nothing of the kind")} />
  ) : (
    <Empty icon={ShieldCheck} title={say("Nobody has done anything yet")} command="taskyard audit ls">
      {say("Cancelling, granting, pausing, answering, signing in: whoever does it is named here.")}
    </Empty>
  );
}

function Entries({ entries, onWho }: { entries: readonly AuditEntry[]; onWho: (who: string) => void }) {
  return (
    <div className="table-frame">
      <table className="table audit">
        <thead>
          <tr>
            <th>{say("When")}</th>
            <th>{say("Who")}</th>
            <th>{say("Act")}</th>
            <th>{say("To what")}</th>
            <th>{say("What else")}</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.id}>
              <td className="audit-when">
                <At at={entry.at} />{" "}
                <span className="quiet">
                  <Ago at={entry.at} />
                </span>
              </td>
              <td>
                <button
                  type="button"
                  className="link"
                  title={say("Only what {by} did", { by: entry.by })}
                  onClick={() => onWho(entry.by)}
                >
                  {entry.by}
                </button>
              </td>
              <td>
                <code>{entry.action}</code>
              </td>
              <td>
                <Place entry={entry} />
              </td>
              <td className="audit-facts">{factsOf(entry.facts)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Place({ entry }: { entry: AuditEntry }) {
  if (entry.object === null) return <span className="quiet">{say("the workspace")}</span>;
  const [kind = "", name = ""] = entry.object.split(/:(.*)/s);
  const to = placeOf(kind, name);
  return (
    <>
      <span className="quiet">{kind}</span>{" "}
      {to === undefined ? (
        name
      ) : (
        <Link to={to} title={name}>
          {shortId(name)}
        </Link>
      )}
    </>
  );
}

function Export({ filter }: { filter: AuditFilter }) {
  const tell = useToast();
  const { mutate, isPending } = useMutation({
    mutationFn: async (kind: "csv" | "jsonl") => ({ kind, ...(await collectAudit(filter)) }),
    onSuccess({ kind, entries, isCut }) {
      saveFile(`audit.${kind}`, kind === "csv" ? "text/csv" : "application/jsonl", textOf(kind, entries));
      const number = { entries: entries.length };
      tell(
        "good",
        isCut
          ? say("{entries|# entry|# entries} exported: the newest. The command has them all", number)
          : say("{entries|# entry|# entries} exported", number),
      );
    },
    onError: (error) => tell("bad", wordsOf(error)),
  });
  return (
    <div className="audit-export">
      <button type="button" className="button small" disabled={isPending} onClick={() => mutate("csv")}>
        <Download aria-hidden /> {say("CSV")}
      </button>
      <button type="button" className="button small" disabled={isPending} onClick={() => mutate("jsonl")}>
        <Download aria-hidden /> {say("JSON lines")}
      </button>
    </div>
  );
}

function textOf(kind: "csv" | "jsonl", entries: readonly AuditEntry[]): string {
  if (kind === "jsonl") return jsonLines(entries);
  const rows = entries.map(({ at, by, action, object, facts }) => [at, by, action, object, JSON.stringify(facts)]);
  return csvOf(["at", "by", "action", "object", "facts"], rows);
}

/** How long entries are kept, and for admins the way to change that. */
function Kept() {
  const { data } = useQuery(auditPolicy);
  const [days, setDays] = useState("");
  const field = useId();
  const wanted = Number(days);
  if (data === undefined) return null;
  return (
    <p className="quiet audit-kept">
      {say("Entries are kept for {days|# day|# days}.", { days: data.days })}{" "}
      <Action
        label={say("Keep for")}
        icon={CalendarClock}
        needs="administer"
        small
        title={say("How long entries are kept")}
        confirm={say("Set it")}
        command={`taskyard audit keep ${quoted(days || "DAYS")}`}
        ready={days !== "" && wanted >= 1}
        run={(via) => keepAudit(via, wanted)}
        done={say("Entries are kept for {days} days", { days })}
      >
        <p>{say("Older entries of this workspace are removed within the hour. What is removed does not come back.")}</p>
        <div className="field">
          <label htmlFor={field}>{say("Days")}</label>
          <input
            id={field}
            type="number"
            min={1}
            max={36_500}
            value={days}
            onChange={(event) => setDays(event.target.value)}
          />
        </div>
      </Action>
    </p>
  );
}
