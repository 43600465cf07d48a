import type { ReactNode } from "react";
import { Link } from "react-router";

import type { TaskDetails } from "@/api/tasks";
import { CopyButton, Id } from "@/parts/copy";
import { money, span, tierOf, tokens } from "@/parts/format";
import { Card } from "@/parts/page";
import { Ago, At } from "@/parts/time";

/** Everything about it that is one line. What is not set is not shown. */
export function Facts({ task }: { task: TaskDetails }) {
  const { constraints } = task.spec;
  const facts: [string, ReactNode][] = [
    ["Id", <Id key="id" id={task.id} />],
    [
      "Type",
      <Link key="type" to={`/tasks?type=${encodeURIComponent(task.type)}`}>
        {task.type}
      </Link>,
    ],
    [
      "Queue",
      <Link key="queue" to={`/tasks?queue=${encodeURIComponent(task.queue)}`}>
        {task.queue}
      </Link>,
    ],
    ["Priority", `${task.priority} (${tierOf(task.priority)})`],
    ["Addressed to", task.agent],
    ["Subject", task.subject && <Link to={`/tasks?subject=${encodeURIComponent(task.subject)}`}>{task.subject}</Link>],
    ["Tags", task.tags.length > 0 && <Chips values={task.tags} />],
    [
      "Created",
      <>
        <Ago at={task.created_at} /> by {task.created_by}
      </>,
    ],
    ["Trigger", task.trigger.type && [task.trigger.type, task.trigger.ref].filter(Boolean).join(" ")],
    ["Runs after", task.run_after && <At at={task.run_after} />],
    ["Deadline", task.deadline && <Ago at={task.deadline} />],
    ["Expires", task.expires_at && <Ago at={task.expires_at} />],
    [
      "Cost",
      `${money(task.cost_usd)}${constraints.max_cost_usd === null ? "" : ` of at most ${money(constraints.max_cost_usd)}`}`,
    ],
    ["Tokens", tokens(task.tokens_used)],
    ["Time limit", constraints.max_duration_sec && span(constraints.max_duration_sec)],
    ["Needs", constraints.required_capabilities.length > 0 && <Chips values={constraints.required_capabilities} />],
    ["Models", constraints.model_preferences.length > 0 && constraints.model_preferences.join(", ")],
    ["Retry", `${task.retry.strategy}, from ${span(task.retry.initial_delay_sec)}`],
    ["Concurrency key", task.concurrency_key && <code>{task.concurrency_key}</code>],
    ["Idempotency key", task.idempotency_key && <Key value={task.idempotency_key} />],
    ["Session", task.session.session_id && <Id id={task.session.session_id} />],
    ["Working directory", task.session.work_dir && <code>{task.session.work_dir}</code>],
    ["Preset", task.preset],
  ];
  return (
    <Card title="Facts">
      <dl className="facts card-body">
        {facts.map(
          ([name, value]) =>
            Boolean(value) && (
              <div key={name} className="fact">
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
      </dl>
    </Card>
  );
}

function Chips({ values }: { values: readonly string[] }) {
  return (
    <span className="chips">
      {values.map((value) => (
        <span key={value} className="chip">
          {value}
        </span>
      ))}
    </span>
  );
}

function Key({ value }: { value: string }) {
  return (
    <span className="id">
      <span className="clip" title={value}>
        {value}
      </span>
      <CopyButton text={value} label="Copy the key" />
    </span>
  );
}
