"""One tree, one table: each error has one code, one exit status, and a sentence that helps."""

import copy
import pickle
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core import errors
from taskyard.core.errors import (
    ERRORS,
    AlreadyAnswered,
    Contended,
    CutoverRefused,
    CycleFound,
    DeliveryRefused,
    DuplicateKey,
    EmbedderFailed,
    EventsGone,
    Forbidden,
    IdentityTaken,
    IllegalTransition,
    ImportUnfinished,
    InvalidAnswer,
    InvalidInput,
    LeaseLost,
    MigrationNeedsStop,
    NotFound,
    Refused,
    ReportRequired,
    SchemaTooNew,
    SchemaTooOld,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreReplaced,
    StoreUnavailable,
    TaskCancelled,
    TaskFailed,
    TaskGone,
    TaskyardError,
    TooLarge,
    TooManyListeners,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    UnknownField,
    YardClosed,
    YardMissing,
    YardMoved,
)

# error, code, exit status, HTTP status, retryable, words that its sentence must have
TABLE: list[tuple[TaskyardError, str, int, int, bool, tuple[str, ...]]] = [
    (InvalidInput("priority", "must be from 0 to 100"), "invalid_input", 2, 422, False, ("priority", "from 0 to 100")),
    (CycleFound(["task_a", "task_b", "task_a"]), "cycle", 2, 422, False, ("task_a -> task_b -> task_a",)),
    (ReportRequired("task_1"), "decision_report_required", 2, 422, False, ("task_1", "report", "still held")),
    (TooLarge(1024), "too_large", 2, 413, False, ("1024",)),
    (NotFound("agent", "agent_1"), "not_found", 3, 404, False, ("agent agent_1",)),
    (YardMissing("/somewhere/taskyard.db"), "yard_missing", 3, 404, False, ("/somewhere/taskyard.db",)),
    (TaskGone("task_1"), "task_gone", 3, 410, False, ("task_1",)),
    (EventsGone(412), "events_gone", 3, 410, False, ("412",)),
    (IllegalTransition("task_1", "completed", "cancel"), "illegal_transition", 4, 409, False, ("completed", "cancel")),
    (LeaseLost("task_1"), "lease_lost", 4, 409, False, ("Stop", "task_1")),
    (IdentityTaken("coder", "it is a type"), "identity_taken", 4, 409, False, ("coder", "it is a type")),
    (InvalidAnswer([{"field": "a", "rule": "must be b"}]), "invalid_answer", 2, 422, False, ("a: must be b",)),
    (AlreadyAnswered("task_1", "go", "ann", "noon"), "already_answered", 4, 409, False, ("task_1", "ann", "noon")),
    (CutoverRefused("q", "shadow", "0 calls"), "cutover_refused", 4, 409, False, ("q", "shadow", "0 calls")),
    (YardMoved("tasks"), "yard_moved", 4, 409, False, ("Stop", "tasks")),
    (TaskFailed("task_1", "crash", "it fell"), "task_failed", 4, 409, False, ("task_1", "crash", "it fell")),
    (TaskCancelled("task_1", "old"), "task_cancelled", 4, 409, False, ("task_1", "old")),
    (DuplicateKey("nightly", "task_1"), "duplicate_key", 4, 409, False, ("nightly", "task_1")),
    (Unauthorized(), "unauthorized", 5, 401, False, ("token",)),
    (DeliveryRefused(), "delivery_refused", 5, 401, False, ("secret", "clock")),
    (Forbidden("a viewer may not cancel"), "forbidden", 5, 403, False, ("a viewer may not cancel",)),
    (Contended(5), "contended", 6, 503, True, ("again", "5")),
    (TooManyRequests(2.5), "too_many_requests", 6, 429, True, ("again", "2.5 s")),
    (TooManyListeners(20), "too_many_listeners", 6, 429, True, ("20",)),
    (EmbedderFailed("it answered 500"), "embedder_failed", 6, 503, True, ("again", "it answered 500")),
    (StoreUnavailable("connection refused"), "store_unavailable", 6, 503, True, ("again", "connection refused")),
    (StoreFull("disk is full"), "store_full", 6, 507, False, ("room", "disk is full")),
    (StoreReadOnly("a standby"), "store_read_only", 6, 503, False, ("a standby",)),
    (StoreCorrupt("yard.db: malformed"), "store_corrupt", 7, 500, False, ("restore a backup", "yard.db: malformed")),
    (StoreReplaced("yard.db"), "store_replaced", 7, 503, False, ("Restart", "yard.db")),
    (SchemaTooNew(9, 7), "schema_too_new", 6, 503, False, ("Upgrade", "9", "7")),
    (UnknownField("flavour"), "unknown_field", 6, 503, False, ("Upgrade", "flavour")),
    (ImportUnfinished("2026-01-01T00:00:00Z", 7), "import_unfinished", 6, 503, False, ("same file", "7 lines")),
    (SchemaTooOld(1, 2), "schema_too_old", 6, 503, False, ("taskyard migrate apply", "1", "2")),
    (
        MigrationNeedsStop(1, 2),
        "migration_needs_stop",
        6,
        503,
        False,
        ("Stop", "back it up", "apply", "1", "2"),
    ),
    (YardClosed(), "yard_closed", 6, 503, False, ("closed",)),
]


def by_code(row: object) -> str | None:
    return row.code if isinstance(row, TaskyardError) else ""


@pytest.mark.parametrize(("error", "code", "exit_status", "http_status", "retryable", "words"), TABLE, ids=by_code)
def test_an_error_has_one_code_and_status_and_says_what_to_do(
    *, error: TaskyardError, code: str, exit_status: int, http_status: int, retryable: bool, words: tuple[str, ...]
):
    assert (error.code, error.retryable) == (code, retryable)
    assert (error.exit_status, error.http_status) == (exit_status, http_status)
    assert ERRORS[code] is type(error)
    assert all(word in str(error) for word in words)
    assert str(error).endswith(".")


def test_every_error_of_the_tree_is_in_the_table_under_a_code_of_its_own():
    families = {TaskyardError, Refused, Unavailable}
    named = {each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, TaskyardError)}
    assert set(ERRORS.values()) == named - families == {type(row[0]) for row in TABLE}
    assert len(ERRORS) == len(named - families)


def test_the_drawing_of_the_tree_names_every_error_and_code():
    drawing = errors.__doc__ or ""
    assert all(f" {error.__name__} " in drawing and f" {code}" in drawing for code, error in ERRORS.items())


@pytest.mark.parametrize("error", [row[0] for row in TABLE], ids=by_code)
def test_an_error_is_the_same_after_a_wire_a_copy_or_a_pickle(error: TaskyardError):
    for twin in (ERRORS[error.code](**error.facts), copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is type(error)
        assert (str(twin), twin.facts) == (str(error), error.facts)


def test_a_status_travels_as_plain_text():
    class Status(StrEnum):
        READY = "ready"

    error = IllegalTransition("task_1", Status.READY, "start")
    assert type(error.facts["status"]) is str
    assert "it is ready" in str(error)


@given(st.text(), st.text())
def test_no_field_or_rule_breaks_the_sentence(field: str, rule: str):
    message = str(InvalidInput(field, rule))
    assert field in message
    assert rule in message
