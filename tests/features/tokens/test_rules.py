"""Roles, tokens and sessions: what each proves, and when it is over."""

from dataclasses import replace

import pytest

from taskyard.core.changes import Record
from taskyard.core.units import Micros
from taskyard.features.tokens import rules
from taskyard.features.tokens.rules import PresentedToken, Role, Session, Token

ID, SECRET = "01M7J84NEEE866R06DZWX4MK0X", "s" * 43
TOKEN = Token(
    id=ID,
    name="ana",
    role=Role.OPERATOR,
    workspace="main",
    sealed=rules.sealed(SECRET),
    agent=None,
    created_at=Micros(1),
    created_by="human:root",
    expires_at=Micros(100),
)
SESSION = Session(id=ID, token_id=ID, sealed=rules.sealed(SECRET), expires_at=Micros(100))
WORKER = replace(TOKEN, role=Role.AGENT, agent="coder")


def test_a_token_is_spelled_and_read_back():
    assert rules.presented(rules.spelled(ID, SECRET)) == PresentedToken(False, ID, SECRET)
    assert rules.presented(rules.spelled_session(ID, SECRET)) == PresentedToken(True, ID, SECRET)


@pytest.mark.parametrize(
    "text", ["", "ty_", f"ty_{ID}_", f"ty_{ID}_{SECRET}x", f" ty_{ID}_{SECRET}", f"tz_{ID}_{SECRET}"]
)
def test_what_is_not_the_shape_of_a_token_is_none(text: str):
    assert rules.presented(text) is None


@pytest.mark.parametrize("shown", [TOKEN, SESSION])
def test_only_the_secret_proves_and_only_in_time(shown: Token | Session):
    assert rules.proves(shown, SECRET, Micros(99))
    assert not rules.proves(shown, SECRET, Micros(100))
    assert not rules.proves(shown, SECRET[:-1], Micros(99))


def test_a_revoked_token_proves_nothing():
    assert not rules.proves(replace(TOKEN, revoked_at=Micros(50)), SECRET, Micros(60))


def test_a_token_without_an_end_is_good_for_ever():
    assert rules.proves(replace(TOKEN, expires_at=None), SECRET, Micros(1 << 60))


def test_what_is_stored_is_read_back_and_has_no_secret():
    assert rules.token_of(Record("token", "*", ID, 1, TOKEN.body())) == TOKEN
    assert rules.session_of(Record("session", "*", ID, 1, SESSION.body())) == SESSION
    assert SECRET not in str(TOKEN.body())


def test_the_author_is_a_person_or_an_agent():
    assert TOKEN.by == "human:ana"
    assert WORKER.by == "agent:coder"
    assert replace(WORKER, agent_id="coder-1").by == "agent:coder-1"


@pytest.mark.parametrize(
    ("token", "agent_id", "agent_type", "may"),
    [
        (TOKEN, "anybody", "anything", True),
        (WORKER, "coder-1", "coder", True),
        (WORKER, "coder", None, True),
        (WORKER, "coder-1", None, False),
        (WORKER, "coder-1", "tester", False),
        (replace(WORKER, agent_id="coder-1"), "coder-1", "coder", True),
        (replace(WORKER, agent_id="coder-1"), "coder-1", None, True),
        (replace(WORKER, agent_id="coder-1"), "coder-2", "coder", False),
        (replace(WORKER, agent_id="coder-1"), "coder-1", "tester", False),
    ],
)
def test_a_token_of_an_agent_works_as_that_agent_alone(token: Token, agent_id: str, agent_type: str | None, may: bool):
    assert token.works_as(agent_id, agent_type) is may


def test_each_permission_includes_those_above_it():
    assert rules.ADMINISTER < rules.OPERATE < rules.STEER < rules.WORK
    assert Role.VIEWER in rules.SEE
    assert Role.AGENT not in rules.SEE
    assert Role.VIEWER not in rules.WORK
