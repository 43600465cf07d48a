/** One dead letter: what it was to do, and how each attempt at it went, side by side. */
import { Skull } from "lucide-react";
import { Link } from "react-router";

import { ResolveLetter } from "@/actions/resolve";
import { nameOf } from "@/actions/subject";
import type { DeadLetter } from "@/api/letters";
import { say } from "@/language/say";
import { TaskId } from "@/parts/copy";
import { DagOf } from "@/parts/dag-of";
import { tokens } from "@/parts/format";
import { isBlank, Json, Verbatim } from "@/parts/json";
import { Money } from "@/parts/money";
import { StatusBadge } from "@/parts/status";
import { Ago, At, Seconds } from "@/parts/time";

import { reasonOf } from "./grouping";

export function Letter({ letter }: { letter: DeadLetter }) {
  return (
    <article className="card letter" aria-label={nameOf(letter)}>
      <header>
        <div>
          <h2>
            <Link className="row-name" to={`/tasks/${letter.id}`}>
              {nameOf(letter)}
            </Link>
          </h2>
          <p className="letter-facts quiet">
            <span className="chip">{letter.type}</span>
            <TaskId id={letter.id} />
            <span>
              {say("died {ago} of {reason}", {
                ago: <Ago at={letter.dead?.at} />,
                reason: <strong>{reasonOf(letter)}</strong>,
              })}
            </span>
            <span>
              {say("{attempts|# attempt|# attempts}", { attempts: letter.history.length })},{" "}
              <Money usd={letter.cost_usd} />
            </span>
            {letter.subject !== null && <span className="chip">{letter.subject}</span>}
            <DagOf task={letter} />
          </p>
        </div>
      </header>
      <div className="letter-body">
        {letter.dead?.poison_pill === true && (
          <p className="note tone-warn">
            <Skull aria-hidden />{" "}
            {say(
              "A poison pill: it failed under different agents, so another try as it is will hardly do better. Edit it, or give it up.",
            )}
          </p>
        )}
        <Review letter={letter} />
        <div className="page-actions">
          <ResolveLetter letter={letter} />
        </div>
        <Attempts letter={letter} />
        <Spec letter={letter} />
      </div>
    </article>
  );
}

function Review({ letter: { dead } }: { letter: DeadLetter }) {
  if (dead?.reviewed !== true) return null;
  return (
    <p className="note tone-info">
      <span>
        {say("{resolution} by {who} {ago}", {
          resolution: dead.resolution,
          who: dead.reviewed_by,
          ago: <Ago at={dead.reviewed_at} />,
        })}
        {dead.note !== null && dead.note !== "" && `: ${dead.note}`}
      </span>
    </p>
  );
}

function Attempts({ letter }: { letter: DeadLetter }) {
  return (
    <section>
      <h3>{say("Attempts, side by side")}</h3>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls sideways, also by keys */}
      <ol className="letter-attempts" tabIndex={0} aria-label={say("Attempts")}>
        {letter.history.toReversed().map((attempt) => (
          <li key={attempt.attempt}>
            <header>
              <strong>#{attempt.attempt}</strong>
              <StatusBadge status={attempt.outcome} />
              <span className="quiet">
                <At at={attempt.ended_at} />
              </span>
            </header>
            <dl className="facts">
              <dt>{say("Agent")}</dt>
              <dd>{attempt.agent}</dd>
              <dt>{say("Model")}</dt>
              <dd>{attempt.model ?? <span className="quiet">—</span>}</dd>
              <dt>{say("Took")}</dt>
              <dd>
                <Seconds value={attempt.duration_sec} />
              </dd>
              <dt>{say("Cost")}</dt>
              <dd>
                <Money usd={attempt.cost_usd} /> <span className="quiet">{tokens(attempt.tokens)}</span>
              </dd>
              <dt>{say("Reason")}</dt>
              <dd>
                {attempt.reason}
                {!attempt.counted && <span className="quiet"> {say("(not counted)")}</span>}
              </dd>
            </dl>
            <Verbatim
              text={attempt.error ?? say("no error was given")}
              label={say("error of attempt {attempt}", { attempt: attempt.attempt })}
            />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Spec({ letter: { spec } }: { letter: DeadLetter }) {
  return (
    <section className="letter-spec">
      <div>
        <h3>{say("Prompt")}</h3>
        <Verbatim text={spec.prompt || "none"} label={say("prompt")} />
      </div>
      {!isBlank(spec.payload) && (
        <div>
          <h3>{say("Payload")}</h3>
          <Json value={spec.payload} label={say("payload")} />
        </div>
      )}
    </section>
  );
}
