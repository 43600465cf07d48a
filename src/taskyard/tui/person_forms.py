"""The forms of a person's word: the answer to a question, and the decision on a dead letter."""

from __future__ import annotations

import json

from taskyard.cli.terminal import Text
from taskyard.core.json_value import Json
from taskyard.features.approvals.views import Approval
from taskyard.features.dead_letters.service import RESOLUTIONS
from taskyard.features.dead_letters.views import DeadLetter
from taskyard.tui.form_dialog import FormDialog
from taskyard.tui.terminal_session import TerminalSession

SIGNAL: Json = {"title": "data of the signal, as JSON", "default": True}
DECISION: Json = {
    "type": "object",
    "properties": {
        "resolution": {"enum": list(RESOLUTIONS)},
        "reason": {"type": "string", "description": "kept with the decision"},
        "spec": {"type": "object", "description": "with modify_and_retry: the changed fields, as JSON"},
    },
    "required": ["resolution", "reason"],
}


def answer_form(session: TerminalSession, approval: Approval) -> FormDialog:
    async def send(answer: Json) -> None:
        # The wait that was looked at is answered, and no later one of the same name.
        if approval.question is None:
            await session.yard.signal(approval.task.id, approval.signal, answer, sent_by=session.by, wait=approval.wait)
        else:
            await session.yard.approvals.answer(
                approval.task.id, approval.signal, answer, wait=approval.wait, by=session.by
            )

    schema = SIGNAL if approval.question is None else approval.question.answer_schema
    return FormDialog(f"{approval.signal} of {approval.task.id}", question_text(approval), schema, send)


def question_text(approval: Approval) -> Text:
    question = approval.question
    if question is None:
        return Text(f"It waits for the signal {approval.signal}.")
    text = Text(question.text)
    if question.context is not None:
        context = question.context
        shown = context if isinstance(context, str) else json.dumps(context, ensure_ascii=False, indent=2)
        text.append(f"\n{shown}", style="dim")
    return text.append(f"\nasked by {question.asked_by}", style="dim")


def decision_form(session: TerminalSession, letter: DeadLetter) -> FormDialog:
    async def send(answer: Json) -> None:
        assert isinstance(answer, dict)
        spec = answer.get("spec")
        await session.yard.dead_letters.resolve(
            letter.task.id,
            str(answer["resolution"]),
            by=session.by,
            note=str(answer["reason"]),
            spec=spec if isinstance(spec, dict) else None,
        )

    last = letter.task.attempts[-1].error if letter.task.attempts else None
    about = Text.assemble(letter.task.title or letter.task.type, (f"\n{letter.dead.reason}: {last or ''}", "dim"))
    return FormDialog(f"Decide {letter.task.id}", about, DECISION, send)
