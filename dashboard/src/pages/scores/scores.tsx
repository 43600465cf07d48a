/** Which variant of a task type does better: completions, cost, time and scores, with intervals. */
import { useQuery } from "@tanstack/react-query";
import { FlaskConical, Scale } from "lucide-react";
import { useId } from "react";
import { Link, useSearchParams } from "react-router";

import { overview } from "@/api/overview";
import { DAYS, report, variants, type TypeVariants, type VariantReport } from "@/api/scores";
import { say } from "@/language/say";
import { ViewerNote } from "@/parts/action";
import { quoted } from "@/parts/copy";
import { Broken, Empty, Loading } from "@/parts/empty";
import { count, percent, span } from "@/parts/format";
import { Card, Page } from "@/parts/page";
import { Lasted } from "@/parts/time";

import { Differences } from "./differences";
import { Intervals, inWords, UNITS } from "./intervals";
import { measuresOf } from "./scale";
import { SetVariants } from "./set-variants";
import "./scores.css";

const USUAL_DAYS = 30;

export default function Scores() {
  const [asked, setAsked] = useSearchParams();
  const known = useQuery(variants);
  const types = known.data?.variants ?? [];
  const type = asked.get("type") ?? types[0]?.type ?? "";
  const days = DAYS.find((each) => String(each) === asked.get("days")) ?? USUAL_DAYS;

  function ask(name: string, value: string): void {
    const next = new URLSearchParams(asked);
    next.set(name, value);
    setAsked(next, { replace: true });
  }

  return (
    <Page
      title={say("Scores")}
      twin={{ command: "taskyard variants ls", path: "/api/variants" }}
      heading={say("Scores and variants")}
      lead={say("Which way to do a type of task does better, and whether that may be chance.")}
      actions={<SetVariants type={type} known={types.find((each) => each.type === type)} />}
    >
      <ViewerNote />
      <div className="scores-bar">
        <TypeField value={type} types={types} onChange={(chosen) => ask("type", chosen)} />
        <div className="segments" role="group" aria-label={say("Tasks of the last days")}>
          {DAYS.map((each) => (
            <button key={each} type="button" aria-pressed={each === days} onClick={() => ask("days", String(each))}>
              {say("{days|# day|# days}", { days: each })}
            </button>
          ))}
        </div>
      </div>
      {known.data === undefined && (
        <Card>
          {known.error === null ? <Loading /> : <Broken error={known.error} retry={() => void known.refetch()} />}
        </Card>
      )}
      {known.data !== undefined && type === "" && (
        <Card>
          <Empty
            icon={FlaskConical}
            title={say("No type has variants")}
            command={`taskyard variants set summary '[{"name": "plain"}, {"name": "careful", "prompt": "Check each fact. {prompt}"}]'`}
          >
            {say("Give shares of a type's tasks to other models or prompts, and see here which does better:")}
          </Empty>
        </Card>
      )}
      {type !== "" && <Report key={type} type={type} days={days} of={types.find((each) => each.type === type)} />}
    </Page>
  );
}

interface TypeFieldProps {
  value: string;
  types: readonly TypeVariants[];
  onChange: (type: string) => void;
}

function TypeField({ value, types, onChange }: TypeFieldProps) {
  const field = useId();
  const { data } = useQuery(overview);
  const used = Object.values(data?.tasks ?? {}).flatMap((counts) => Object.keys(counts));
  const all = [...new Set([...types.map(({ type }) => type), ...used, ...(value === "" ? [] : [value])])].sort();
  return (
    <label className="scores-type" htmlFor={field}>
      <span className="quiet">{say("Type")}</span>
      <select id={field} value={value} onChange={(event) => onChange(event.target.value)}>
        {value === "" && <option value="">{say("choose one")}</option>}
        {all.map((type) => (
          <option key={type} value={type}>
            {type}
          </option>
        ))}
      </select>
    </label>
  );
}

function Report({ type, days, of }: { type: string; days: number; of: TypeVariants | undefined }) {
  const { data, error, refetch } = useQuery(report(type, days));
  if (data === undefined)
    return <Card>{error === null ? <Loading rows={5} /> : <Broken error={error} retry={() => void refetch()} />}</Card>;
  const twin = {
    command: `taskyard scores report ${quoted(type)} --days ${days}`,
    path: `/api/scores/report?type=${encodeURIComponent(type)}&days=${days}`,
  };
  if (data.variants.length === 0)
    return (
      <Card title={type} twin={twin} name={say("The report")}>
        <Empty icon={Scale} title={say("No task of {type} was put in within {days|# day|# days}", { type, days })} />
      </Card>
    );
  return (
    <>
      <Card
        title={say("Variants")}
        twin={twin}
        aside={
          <span className="quiet">
            {say("{tasks|# task|# tasks} in {time}", { tasks: data.tasks, time: <Lasted from={data.since} /> })}
            {data.is_cut && `: ${say("the newest are counted")}`}
          </span>
        }
      >
        <Table report={data} of={of} />
      </Card>
      <Card title={say("Means, with 95 % intervals")} twin={twin}>
        <div className="card-body scores-measures">
          {measuresOf(data).map((measure) => (
            <Intervals key={measure.name + measure.unit} measure={measure} />
          ))}
        </div>
      </Card>
      {data.differences.length > 0 && <Differences differences={data.differences} twin={twin} />}
    </>
  );
}

function Table({ report: { type, variants: rows }, of }: { report: VariantReport; of: TypeVariants | undefined }) {
  const shares = new Map(of?.variants.map(({ name, share }) => [name, share]));
  const whole = [...shares.values()].reduce((sum, share) => sum + share, 0);
  return (
    <div className="table-frame">
      <table className="table scores-table">
        <thead>
          <tr>
            <th>{say("Variant")}</th>
            <th className="number">{say("Share")}</th>
            <th className="number">{say("Tasks")}</th>
            <th className="number">{say("Completed")}</th>
            <th className="number">{say("Cost of each")}</th>
            <th className="number">{say("Worked, p50")}</th>
            <th className="number">{say("p95")}</th>
            <th>{say("Failed attempts")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((each) => (
            <tr key={each.name ?? ""}>
              <td>
                <b>{each.name ?? <Link to={`/tasks?type=${encodeURIComponent(type)}`}>{say("no variant")}</Link>}</b>
              </td>
              <td className="number">
                {each.name !== null && shares.has(each.name) ? percent((shares.get(each.name) ?? 0) / whole) : "–"}
              </td>
              <td className="number">{count(each.tasks)}</td>
              <td
                className="number"
                title={say("{completed} of {ended} that ended", { completed: each.completed, ended: each.ended })}
              >
                {inWords(each.rate, UNITS.share)}
              </td>
              <td className="number">{inWords(each.cost, UNITS.usd)}</td>
              <td className="number">{each.p50_sec === null ? "–" : span(each.p50_sec)}</td>
              <td className="number">{each.p95_sec === null ? "–" : span(each.p95_sec)}</td>
              <td>
                {Object.entries(each.failures)
                  .map(([reason, number]) => `${reason} ${number}`)
                  .join(", ") || <span className="quiet">{say("none")}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
