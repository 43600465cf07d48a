import type { ReactNode } from "react";
import { Link } from "react-router";

import type { TaskDetails } from "@/api/tasks";
import { say } from "@/language/say";
import { CopyButton, Id } from "@/parts/copy";
import { money, span, tierOf, tokens } from "@/parts/format";
import { Card } from "@/parts/page";
import { Ago, At } from "@/parts/time";
import { showTwin } from "@/parts/twin";

/** Everything about it that is one line. What is not set is not shown. */
export function Facts({ task }: { task: TaskDetails }) {
  const { constraints } = task.spec;
  const facts: [string, ReactNode][] = [
    [say("Id"), <Id key="id" id={task.id} />],
    [
      say("Type"),
      <Link key="type" to={`/tasks?type=${encodeURIComponent(task.type)}`}>
        {task.type}
      </Link>,
    ],
    [
      say("Queue"),
      <Link key="queue" to={`/tasks?queue=${encodeURIComponent(task.queue)}`}>
        {task.queue}
      </Link>,
    ],
    [say("Priority"), `${task.priority} (${tierOf(task.priority)})`],
    [say("Addressed to"), task.agent],
    [
      say("Subject"),
      task.subject && <Link to={`/tasks?subject=${encodeURIComponent(task.subject)}`}>{task.subject}</Link>,
    ],
    [say("Tags"), task.tags.length > 0 && <Chips values={task.tags} />],
    [say("Created"), <>{say("{ago} by {who}", { ago: <Ago at={task.created_at} />, who: task.created_by })}</>],
    [say("Trigger"), task.trigger.type && [task.trigger.type, task.trigger.ref].filter(Boolean).join(" ")],
    [say("Runs after"), task.run_after && <At at={task.run_after} />],
    [say("Deadline"), task.deadline && <Ago at={task.deadline} />],
    [say("Expires"), task.expires_at && <Ago at={task.expires_at} />],
    [
      say("Cost"),
      constraints.max_cost_usd === null
        ? money(task.cost_usd)
        : say("{cost} of at most {most}", { cost: money(task.cost_usd), most: money(constraints.max_cost_usd) }),
    ],
    [say("Tokens"), tokens(task.tokens_used)],
    [say("Time limit"), constraints.max_duration_sec && span(constraints.max_duration_sec)],
    [
      say("Needs"),
      constraints.required_capabilities.length > 0 && <Chips values={constraints.required_capabilities} />,
    ],
    [say("Models"), constraints.model_preferences.length > 0 && constraints.model_preferences.join(", ")],
    [
      say("Retry"),
      say("{strategy}, from {time}", { strategy: task.retry.strategy, time: span(task.retry.initial_delay_sec) }),
    ],
    [say("Concurrency key"), task.concurrency_key && <code>{task.concurrency_key}</code>],
    [say("Idempotency key"), task.idempotency_key && <Key value={task.idempotency_key} />],
    [say("Session"), task.session.session_id && <Id id={task.session.session_id} />],
    [say("Working directory"), task.session.work_dir && <code>{task.session.work_dir}</code>],
    [say("Preset"), task.preset],
  ];
  return (
    <Card title={say("Facts")} twin={showTwin(task.id)}>
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
      <CopyButton text={value} label={say("Copy the key")} />
    </span>
  );
}
