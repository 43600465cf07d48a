/** The report builder: what was done, what it cost and how long it took, grouped as the address says. */
import { useQuery } from "@tanstack/react-query";
import { ChartColumn, Download } from "lucide-react";
import { useMemo } from "react";
import { useSearchParams } from "react-router";

import { report, type Report, type ReportField } from "@/api/reports";
import { say } from "@/language/say";
import { serverNow } from "@/live/clock";
import { csvOf, saveFile } from "@/parts/download";
import { Broken, Empty, Loading } from "@/parts/empty";
import { FilterFields, useAddressFilter, type FilterFieldWords } from "@/parts/filter-fields";
import { count } from "@/parts/format";
import { Card, Page } from "@/parts/page";
import { SavedViews } from "@/parts/saved-views";

import {
  asCommand,
  asPath,
  GROUPINGS,
  MEASURES,
  measureWords,
  MOST_GROUPINGS,
  PERIODS,
  questionOf,
  REPORT_FIELDS,
  SOURCES,
  type Question,
} from "./asking";
import { Drawn, inWords } from "./drawn";
import "./reports.css";

type Field = ReportField | "since" | "until";
const NAMES: readonly Field[] = [...REPORT_FIELDS, "since", "until"];
const FIELDS: readonly FilterFieldWords<Field>[] = [
  { name: "type", label: say("Type"), hint: "code" },
  { name: "agent", label: say("Agent"), hint: "coder" },
  { name: "queue", label: say("Queue"), hint: "default" },
  { name: "subject", label: say("Subject"), hint: "issue:42" },
  { name: "tag", label: say("Tag"), hint: "nightly" },
  { name: "reason", label: say("Failed for"), hint: "timeout" },
  { name: "since", label: say("From"), hint: "", type: "datetime-local" },
  { name: "until", label: say("Until"), hint: "", type: "datetime-local" },
];
const SOURCE_WORDS = { attempts: say("Attempts"), days: say("Stored days") };

export default function Reports() {
  const [params, setParams] = useSearchParams();
  const question = useMemo(() => questionOf(params, serverNow()), [params]);
  const filtering = useAddressFilter(NAMES);
  const { data, error, refetch } = useQuery(report(question));

  function set(name: string, values: readonly string[], ...gone: string[]) {
    setParams((before) => {
      const after = new URLSearchParams(before);
      for (const each of [name, ...gone]) after.delete(each);
      values.forEach((each) => after.append(name, each));
      return after;
    });
  }

  return (
    <Page
      title={say("Reports")}
      lead={say("What was done, what it cost and how long it took.")}
      actions={<SavedViews page="reports" />}
      twin={{ command: asCommand(question), path: asPath(question) }}
    >
      <Asking question={question} set={set} />
      <FilterFields fields={FIELDS} filtering={filtering} />
      {error !== null && <Broken error={error} retry={() => void refetch()} />}
      {error === null && data === undefined && <Loading rows={8} />}
      {error === null && data?.rows.length === 0 && (
        <Empty icon={ChartColumn} title={say("Nothing was measured")} command={asCommand(question)}>
          {say("No attempt ended in this time that matches.")}
        </Empty>
      )}
      {error === null && data !== undefined && data.rows.length > 0 && (
        <Answer answer={data} question={question} onChart={(measure) => set("chart", [measure])} />
      )}
    </Page>
  );
}

interface AskingProps {
  question: Question;
  set: (name: string, values: readonly string[], ...gone: string[]) => void;
}

function Asking({ question, set }: AskingProps) {
  const { by, measures, source, period } = question;
  const toggled = (all: readonly string[], each: string) =>
    all.includes(each) ? all.filter((other) => other !== each) : [...all, each];
  return (
    <div className="reports-asking">
      <div className="reports-line">
        <div className="segments" role="group" aria-label={say("Time")}>
          {PERIODS.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={period === each}
              onClick={() => set("days", [String(each)], "since", "until")}
            >
              {each === 1 ? "24 h" : `${each} d`}
            </button>
          ))}
        </div>
        <div className="segments" role="group" aria-label={say("Read from")}>
          {SOURCES.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={source === each}
              onClick={() => set("source", [each], "measure", "chart")}
            >
              {SOURCE_WORDS[each]}
            </button>
          ))}
        </div>
      </div>
      <fieldset className="reports-choice">
        <legend>{say("Group by, up to {number}", { number: MOST_GROUPINGS })}</legend>
        {GROUPINGS.map((each) => (
          <label key={each} className="check">
            <input
              type="checkbox"
              checked={by.includes(each)}
              disabled={!by.includes(each) && by.length >= MOST_GROUPINGS}
              onChange={() => {
                const after = toggled(by, each);
                set("by", after.length > 0 ? after : [""]);
              }}
            />
            {each}
          </label>
        ))}
      </fieldset>
      <fieldset className="reports-choice">
        <legend>{say("Measures")}</legend>
        {MEASURES.map((each) => (
          <label key={each} className="check">
            <input
              type="checkbox"
              checked={measures.includes(each)}
              disabled={measures.length === 1 && measures.includes(each)}
              onChange={() => set("measure", toggled(measures, each))}
            />
            {measureWords(each)}
          </label>
        ))}
      </fieldset>
    </div>
  );
}

interface AnswerProps {
  answer: Report;
  question: Question;
  onChart: (measure: string) => void;
}

function Answer({ answer, question, onChart }: AnswerProps) {
  const twin = { command: asCommand(question), path: asPath(question) };
  const chart = answer.measures.includes(question.chart) ? question.chart : (answer.measures[0] ?? "");
  return (
    <>
      {answer.is_cut && (
        <p className="note tone-info">
          {say(
            "The newest {tasks} tasks that match are counted; there are more. Narrow the time down, or read from stored days.",
            { tasks: count(answer.read) },
          )}
        </p>
      )}
      <Card
        title={say("Chart")}
        twin={twin}
        aside={
          <label>
            <span className="sr-only">{say("Measure that is drawn")}</span>
            <select value={chart} onChange={(event) => onChart(event.target.value)}>
              {answer.measures.map((each) => (
                <option key={each} value={each}>
                  {measureWords(each)}
                </option>
              ))}
            </select>
          </label>
        }
      >
        <div className="card-body">
          <Drawn report={answer} measure={chart} />
        </div>
      </Card>
      <Card
        title={say("{rows|# row|# rows}", { rows: answer.rows.length + answer.rows_left_out })}
        twin={twin}
        aside={<Export answer={answer} />}
      >
        <Rows answer={answer} />
        {answer.rows_left_out > 0 && (
          <p className="note tone-info">
            {say("{rows|# more row is|# more rows are} left out, and in the total.", { rows: answer.rows_left_out })}
          </p>
        )}
      </Card>
    </>
  );
}

function Rows({ answer }: { answer: Report }) {
  return (
    // On a phone it scrolls, and must be reached by keys.
    <div className="table-frame" role="region" aria-label={say("Rows")} tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            {answer.by.map((each) => (
              <th key={each} scope="col">
                {each}
              </th>
            ))}
            {answer.by.length === 0 && <th scope="col">{say("of // heading of a column")}</th>}
            {answer.measures.map((each) => (
              <th key={each} scope="col" className="number">
                {measureWords(each)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {answer.rows.map((row) => (
            <tr key={JSON.stringify(row.group)}>
              {row.group.map((each, index) => (
                <td key={index}>{each ?? <span className="quiet">{say("none")}</span>}</td>
              ))}
              {row.group.length === 0 && <td>{say("everything")}</td>}
              <Values answer={answer} values={row.values} />
            </tr>
          ))}
        </tbody>
        {answer.by.length > 0 && (
          <tfoot>
            <tr>
              <th scope="row" colSpan={answer.by.length}>
                {say("In all")}
              </th>
              <Values answer={answer} values={answer.total.values} />
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}

function Values({ answer, values }: { answer: Report; values: readonly (number | null)[] }) {
  return answer.measures.map((measure, index) => (
    <td key={measure} className="number" title={String(values[index] ?? "")}>
      {inWords(measure, values[index] ?? null)}
    </td>
  ));
}

function Export({ answer }: { answer: Report }) {
  const csv = () =>
    csvOf(
      [...answer.by, ...answer.measures],
      answer.rows.map((row) => [...row.group, ...row.values]),
    );
  return (
    <div className="reports-line">
      <button type="button" className="button small" onClick={() => saveFile("report.csv", "text/csv", csv())}>
        <Download aria-hidden /> {say("CSV")}
      </button>
      <button
        type="button"
        className="button small"
        onClick={() => saveFile("report.json", "application/json", JSON.stringify(answer, null, 2))}
      >
        <Download aria-hidden /> JSON
      </button>
    </div>
  );
}
