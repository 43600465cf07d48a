"""Asking a person: a wait that is stored with its question, and goes on with the answer or with its default."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from taskyard.core.changes import ChangeSet, Checkpoint, Event, Outbox, Record, expected
from taskyard.core.identifiers import signal_blocker
from taskyard.core.json_value import Json, compact
from taskyard.core.lease import Lease
from taskyard.core.notice import Notice, notice_row
from taskyard.core.task import Hot, TaskId, Trait, dag_of
from taskyard.core.units import Micros, to_iso
from taskyard.definition import arguments
from taskyard.features.approvals import rules
from taskyard.features.approvals.answer_checks import check_default, check_schema
from taskyard.features.approvals.rules import NO_DEFAULT, TIMEOUT, AskedQuestion, NoDefault
from taskyard.features.attempts.suspension import ASKED, Suspension, heard_by, until_of
from taskyard.features.attempts.views import Waited
from taskyard.ledger.ledger import Ledger


class Questions:
    def __init__(self, ledger: Ledger, suspension: Suspension) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._suspension = suspension

    async def ask(
        self,
        task_id: str,
        lease: str,
        name: str,
        question: str,
        *,
        answer_schema: Mapping[str, object] | None = None,
        choices: Sequence[Json] | None = None,
        who: Sequence[str] = (),
        timeout_sec: float | None = None,
        default: Json | NoDefault = NO_DEFAULT,
        context: Json = None,
        login: bool = False,
        token: str | None = None,
    ) -> Waited:
        """Ask a person, and wait for the answer without a slot. The name is that of the wait, once in each task.

        The answer fits `answer_schema`, or is one of `choices`; without either it is an object with `approved` and
        `comment`. `who` names the people, groups and roles that may give it. When the time is over, the default is the
        answer, and `timed_out` says so. `context` is shown beside the question. With `login`, no link answers it. A
        server says by which `token` it is asked: none that asked it answers it.
        """
        name = arguments.name("name", name)
        patience = None if timeout_sec is None else arguments.duration("timeout_sec", timeout_sec)
        wanted = rules.asked(
            name=name,
            text=question,
            answer_schema=answer_schema,
            choices=choices,
            who=who,
            default=default,
            context=context,
            login=login,
        )
        check_schema(wanted)
        check_default(wanted)

        async def decide() -> tuple[ChangeSet | None, Waited]:
            hot = await self._suspension.held_until(TaskId(task_id), Lease(lease), name)
            if hot is None:
                return await self._asked_again(TaskId(task_id), name, token), Waited(False)
            noted, now = await self._suspension.note(hot, name, ASKED), self._ledger.now()
            sent = [row for row in await self._store.signals(hot.id) if row.name == name]
            until = until_of(noted) if noted is not None else None if patience is None else Micros(now + patience)
            # What was sent before the question was asked is no answer to it: nobody has looked at that.
            note: dict[str, Json] = noted or {
                "signal": name,
                "place": len(sent),
                "before": len(sent),
                "until": until,
                "question": wanted.text,
            }
            record = await self._store.record(rules.KIND, hot.workspace, hot.id)
            if (heard := heard_by(note, sent)) is not None:
                return None, Waited(True, json.loads(heard.data), by=heard.sent_by)
            before = None if record is None else rules.question_of(record)
            posed = rules.asked_with(rules.posed(wanted, before, hot, until=until, now=now), token)
            if until is None or until > now:
                return await self._posed(hot, posed, record, note, new=noted is None), Waited(False)
            return self._timed_out(hot, posed, record, note, now, new=noted is None), _defaulted(posed)

        return await self._ledger.commit(decide)

    async def _asked_again(self, task_id: TaskId, name: str, token: str | None) -> ChangeSet | None:
        """What adds a token that repeats the call of another one to those that asked."""
        hot = await self._ledger.load(task_id)
        record = None if token is None else await self._store.record(rules.KIND, hot.workspace, hot.id)
        stored = None if record is None else rules.question_of(record)
        if record is None or stored is None or stored.name != name or token in stored.asking_tokens:
            return None
        asked = rules.asked_with(stored, token)
        return ChangeSet(records=(asked.stored(hot, record.version),), at=self._ledger.now())

    async def _posed(
        self, hot: Hot, question: AskedQuestion, record: Record | None, note: Mapping[str, Json], *, new: bool
    ) -> ChangeSet:
        """The task waits, with its question beside it. A question that was asked before is not notified of again."""
        blockers = [signal_blocker(question.name)]
        step = await self._suspension.suspended(hot, blockers, question.until, question.name, note, new=new)
        (change,) = step.changes
        after = change.after._replace(traits=int(change.after.traits | Trait.ASKED))
        facts = _facts(question)
        return step._replace(
            changes=(change._replace(after=after),),
            records=(*step.records, question.stored(hot, 0 if record is None else record.version)),
            events=(*step.events, *([_event("task.asked", hot, step.at, facts)] if new else [])),
            outbox=(*step.outbox, *([_wanted(hot, question, step.at)] if new else [])),
        )

    def _timed_out(
        self,
        hot: Hot,
        question: AskedQuestion,
        record: Record | None,
        note: Mapping[str, Json],
        now: Micros,
        *,
        new: bool,
    ) -> ChangeSet | None:
        """What records, once, that nobody answered; a wait of no time is noted here for the first time."""
        stored = None if record is None else rules.question_of(record)
        if stored is not None and stored.name == question.name and stored.answered is not None:
            return None
        # The record is that of the question which the task asked last: a handler that is run again passes earlier ones.
        is_latest = stored is not None and stored.name == question.name
        ended = None if stored is None or not is_latest else replace(stored, answered=rules.outcome(stored, now))
        facts: dict[str, Json] = {"name": question.name, "by": TIMEOUT, "default": question.has_default}
        if ended is None and not new:
            return None
        row = Checkpoint(hot.id, question.name, hot.attempt, compact(dict(note)))
        return ChangeSet(
            expects=(expected(hot),),
            checkpoints=(row,) if new else (),
            records=() if ended is None or record is None else (ended.stored(hot, record.version),),
            events=(_event("task.answered", hot, now, facts),),
            at=now,
        )


def _defaulted(question: AskedQuestion) -> Waited:
    return Waited(True, question.default, timed_out=True, by=TIMEOUT)


def _facts(question: AskedQuestion) -> dict[str, Json]:
    return {
        "name": question.name,
        "question": question.text,
        "who": list[Json](question.who),
        "until": None if question.until is None else to_iso(question.until),
        "agent": question.asked_by,
    }


def _event(event: str, hot: Hot, at: Micros, facts: Mapping[str, Json]) -> Event:
    return Event(event, hot.workspace, hot.id, dag_of(hot), at, None, None, hot.attempt, compact(dict(facts)))


def _wanted(hot: Hot, question: AskedQuestion, at: Micros) -> Outbox:
    facts: dict[str, Json] = {
        "signal": question.name,
        "wait": question.wait,
        "question": question.text,
        "login": question.login,
        "who": list[Json](question.who),
        "until": None if question.until is None else to_iso(question.until),
    }
    return notice_row(Notice.APPROVAL_WANTED, hot.workspace, facts, at=at, task_id=hot.id)
