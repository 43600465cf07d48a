"""Tasks that wait for somebody's word: what they ask, the answers to it, and the signals that they get."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from taskyard.core import transitions
from taskyard.core.changes import Blocker, ChangeSet, Event, Lift, Record, Signal
from taskyard.core.errors import AlreadyAnswered, Forbidden, NotFound
from taskyard.core.identifiers import blocker_name, is_signal, signal_blocker
from taskyard.core.json_value import Json, compact, encode
from taskyard.core.task import AgentId, Hot, Status, TaskId, Trait, dag_of
from taskyard.core.units import Micros, to_iso
from taskyard.definition import arguments
from taskyard.features.approvals import rules
from taskyard.features.approvals.answer_checks import check_answer, check_files, files_named
from taskyard.features.approvals.form_schema import form_schema
from taskyard.features.approvals.rules import OWNER_ROLES, AskedQuestion, GivenAnswer, Person
from taskyard.features.approvals.views import AnsweredView, Approval, QuestionView
from taskyard.features.artifacts.visibility import Visibility
from taskyard.features.attempts.endings.failure_path import receipt
from taskyard.features.attempts.views import Receipt
from taskyard.features.tasks.lookup.queries import MOST_LISTED, Queries
from taskyard.features.tasks.views import stored_task
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL


class Approvals:
    def __init__(self, ledger: Ledger, queries: Queries, visibility: Visibility) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._queries = queries
        self._visibility = visibility

    async def answer(
        self, task_id: str, name: str, data: Json, *, wait: int | None = None, by: Person | str = LOCAL
    ) -> Receipt:
        """Answer the question that a task asks under this name.

        The answer must fit the question's schema, and whoever gives it must be one of those asked. Of two answers the
        first counts; the second is refused with by whom and when it was answered (`AlreadyAnswered`). With the number
        of a wait, only that wait is answered.
        """
        name = arguments.name("name", name)
        person = _person(by)
        text = self._encoded(data)

        async def decide() -> tuple[ChangeSet | None, Receipt]:
            hot, record = await self._asked(task_id, name)
            if record is None or (wait is not None and rules.question_of(record).wait != wait):
                raise NotFound("question", f"{name} of {task_id}")
            if await self._is_repeated(hot, rules.question_of(record), text, person):
                return None, receipt(hot)
            return await self._answered(hot, record, text, data, person)

        return await self._ledger.commit(decide)

    async def signal(
        self, task_id: str, name: str, data: Json = None, *, sent_by: Person | str = LOCAL, wait: int | None = None
    ) -> Receipt:
        """Tell a task something it waits for, or will wait for.

        An answer to one wait, by its number, is dropped where that wait is over: no later one takes it. A signal that
        a question waits for is an answer to it, and must be one.
        """
        name = arguments.name("name", name)
        person = _person(sent_by, field="sent_by")
        text = self._encoded(data)

        async def decide() -> tuple[ChangeSet | None, Receipt]:
            hot, record = await self._asked(task_id, name)
            if wait is not None and (hot.status, hot.wait) != (Status.PENDING, wait):
                return None, receipt(hot)
            return await self._answered_or_sent(hot, record, name, text, data, person)

        return await self._ledger.commit(decide)

    async def sent(self, task_id: str, name: str, data: Json, *, by: Person | str) -> ChangeSet:
        """What stores a signal, or the answer to a question, for a change set that sends one."""
        hot, record = await self._asked(task_id, name)
        person, text = _person(by), self._encoded(data)
        return (await self._answered_or_sent(hot, record, name, text, data, person))[0]

    async def waited_for(self, hot: Hot) -> Sequence[str]:
        """The names of the signals that a task waits for now."""
        blockers = await self._store.blockers([hot.id]) if hot.status is Status.PENDING else []
        return [blocker_name(each.name).rest for each in blockers if is_signal(each.name) and each.wait == hot.wait]

    async def list(self, *, limit: int = MOST_LISTED, task_id: str | None = None) -> list[Approval]:
        """Tasks that wait for a person's word, longest first; or what one task waits for."""
        awaited = await self._store.awaited(self._workspace, limit) if task_id is None else await self._of(task_id)
        ids = list(dict.fromkeys(blocker.task_id for blocker in awaited))
        hots = await self._store.load(ids)
        asked = await self._store.named(
            rules.KIND, self._workspace, [hot.id for hot in hots.values() if hot.traits & Trait.ASKED]
        )
        tasks = {task.id: task for task in await self._queries.tasks(list(hots.values()))}
        return [
            Approval(
                task,
                blocker_name(blocker.name).rest,
                task.updated_at,
                task.wake_at,
                blocker.wait,
                _shown(asked.get(blocker.task_id), blocker),
            )
            for blocker in awaited
            # Each is read at its own moment: by now, the signal may have come.
            if (task := tasks.get(blocker.task_id)) is not None
            and (task.status, stored_task(task)[0].wait) == (Status.PENDING, blocker.wait)
        ]

    async def get(self, task_id: str, name: str) -> Approval:
        """A question of a task and how it stands, also where it is answered already.

        Of earlier questions of a task only the latest is kept whole; the others are found in its events.
        """
        name = arguments.name("name", name)
        hot, record = await self._asked(task_id, name)
        if record is None:
            raise NotFound("question", f"{name} of {task_id}")
        question, now = rules.question_of(record), self._ledger.now()
        (task,) = await self._queries.tasks([hot])
        given = rules.outcome(question, now)
        answered = None if given is None else await self._answer_given(hot, question, given)
        return Approval(
            task,
            question.name,
            question.asked_at,
            question.until,
            question.wait,
            question_view(question, answered),
            rules.is_open(question, hot, now),
        )

    def _encoded(self, data: Json) -> str:
        return encode(data, field="data", max_bytes=self._ledger.options.sizes.max_payload_bytes)

    async def _asked(self, task_id: str, name: str) -> tuple[Hot, Record | None]:
        """The task, and the question that it asked last, where that has this name."""
        hot = await self._ledger.load(TaskId(task_id))
        record = await self._store.record(rules.KIND, self._workspace, hot.id) if hot.traits & Trait.ASKED else None
        return hot, record if record is not None and rules.question_of(record).name == name else None

    async def _is_repeated(self, hot: Hot, question: AskedQuestion, text: str, person: Person) -> bool:
        """Whether this very answer was given before, and whoever gave it may not have heard so. A link is used once."""
        given = question.answered
        if given is None or given.by != person.by or person.kind == "link":
            return False
        rows = await self._store.signals(hot.id)
        return any((row.name, row.at, row.data) == (question.name, given.at, text) for row in rows)

    async def _answered_or_sent(
        self, hot: Hot, record: Record | None, name: str, text: str, data: Json, person: Person
    ) -> tuple[ChangeSet, Receipt]:
        """A signal answers the question of its name, unless the task waits for it by now without a question."""
        if record is not None and not await self._waits_unasked(hot, rules.question_of(record)):
            return await self._answered(hot, record, text, data, person)
        return self._sent(hot, name, text, person.by, self._ledger.now())

    async def _waits_unasked(self, hot: Hot, question: AskedQuestion) -> bool:
        return hot.wait != question.wait and question.name in await self.waited_for(hot)

    async def _answered(
        self, hot: Hot, record: Record, text: str, data: Json, person: Person
    ) -> tuple[ChangeSet, Receipt]:
        question, now = rules.question_of(record), self._ledger.now()
        if (given := rules.outcome(question, now)) is not None:
            raise AlreadyAnswered(hot.id, question.name, given.by, to_iso(given.at))
        transitions.allow(hot, "signal")
        if not rules.is_open(question, hot, now):
            raise NotFound("question", f"{question.name} of {hot.id}")
        await self._check_person(question, person)
        check_answer(question, data)
        if named := files_named(data):
            check_files(question, data, await self._visibility.missing_for(hot, named))
        step, sent = self._sent(hot, question.name, text, person.by, now)
        ended = replace(question, answered=GivenAnswer(person.by, now))
        facts: dict[str, Json] = {"name": question.name, "by": person.by, "default": False}
        event = Event("task.answered", hot.workspace, hot.id, dag_of(hot), now, None, None, hot.attempt, compact(facts))
        return step._replace(records=(ended.stored(hot, record.version),), events=(event,)), sent

    async def _check_person(self, question: AskedQuestion, person: Person) -> None:
        agent = (await self._ledger.configuration.current()).agents.get(AgentId(question.asked_by))
        askers = {question.asked_by} if agent is None else {agent.id, agent.type}
        tokens = {*question.asking_tokens, None if agent is None else agent.token} - {None}
        if person.token in tokens or (person.kind == "agent" and person.name in askers):
            raise Forbidden("an agent does not answer its own question")
        if not rules.is_for(question, person):
            raise Forbidden(f"the question is for {', '.join(question.who)}, and {person.by} is none of them")

    def _sent(self, hot: Hot, name: str, text: str, by: str, now: Micros) -> tuple[ChangeSet, Receipt]:
        change = transitions.signal(hot, name=name, by=by, now=now)
        row = Signal(hot.id, name, text, by, now)
        lift = Lift(signal_blocker(name), hot.id)
        return ChangeSet(changes=(change,), signals=(row,), lifts=(lift,), at=now), receipt(change.after)

    async def _answer_given(self, hot: Hot, question: AskedQuestion, given: GivenAnswer) -> AnsweredView:
        sent = [row for row in await self._store.signals(hot.id) if (row.name, row.at) == (question.name, given.at)]
        data = json.loads(sent[-1].data) if sent else question.default
        return AnsweredView(by=given.by, at=given.at, is_default=given.is_default, data=data)

    async def _of(self, task_id: str) -> Sequence[Blocker]:
        """The signals that one task of this workspace waits for."""
        hot = await self._ledger.load(TaskId(task_id))
        blockers = await self._store.blockers([hot.id])
        return [each for each in blockers if is_signal(each.name)]


def question_view(question: AskedQuestion, answered: AnsweredView | None = None) -> QuestionView:
    return QuestionView(
        text=question.text,
        answer_schema=form_schema(question.answer_schema),
        who=question.who,
        has_default=question.has_default,
        default=question.default,
        context=question.context,
        login=question.login,
        asked_by=question.asked_by,
        answered=answered,
    )


def _shown(record: Record | None, blocker: Blocker) -> QuestionView | None:
    """The question of a wait; None where the wait is for a signal that nobody was asked for."""
    question = None if record is None else rules.question_of(record)
    return question_view(question) if question is not None and question.wait == blocker.wait else None


def _person(by: Person | str, *, field: str = "by") -> Person:
    """Whoever has the yard itself in hand may act in any role; an agent has none."""
    if isinstance(by, Person):
        return by._replace(by=arguments.name(field, by.by))
    named = Person(arguments.name(field, by))
    return named if named.kind in ("agent", "link") else named._replace(roles=OWNER_ROLES)
