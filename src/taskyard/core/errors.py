"""Everything a caller can be refused with.

    TaskyardError
    ├── InvalidInput          invalid_input             exit 2   HTTP 422
    ├── CycleFound            cycle                     exit 2   HTTP 422
    ├── ReportRequired        decision_report_required  exit 2   HTTP 422
    ├── InvalidAnswer         invalid_answer            exit 2   HTTP 422
    ├── TooLarge              too_large                 exit 2   HTTP 413
    ├── NotFound              not_found                 exit 3   HTTP 404
    ├── YardMissing           yard_missing              exit 3   HTTP 404
    ├── TaskGone              task_gone                 exit 3   HTTP 410
    ├── EventsGone            events_gone               exit 3   HTTP 410
    ├── Refused                                         exit 4   HTTP 409
    │   ├── IllegalTransition illegal_transition
    │   ├── LeaseLost         lease_lost
    │   ├── DuplicateKey      duplicate_key
    │   ├── IdentityTaken     identity_taken
    │   ├── AlreadyAnswered   already_answered
    │   ├── YardMoved         yard_moved
    │   ├── CutoverRefused    cutover_refused
    │   ├── TaskFailed        task_failed
    │   └── TaskCancelled     task_cancelled
    ├── Unauthorized          unauthorized              exit 5   HTTP 401
    ├── DeliveryRefused       delivery_refused          exit 5   HTTP 401
    ├── Forbidden             forbidden                 exit 5   HTTP 403
    └── Unavailable                                     exit 6   HTTP 503
        ├── Contended         contended                 retryable
        ├── TooManyRequests   too_many_requests         retryable HTTP 429
        ├── TooManyListeners  too_many_listeners        retryable HTTP 429
        ├── EmbedderFailed    embedder_failed           retryable
        ├── StoreUnavailable  store_unavailable         retryable
        ├── StoreFull         store_full                         HTTP 507
        ├── StoreReadOnly     store_read_only
        ├── StoreCorrupt      store_corrupt             exit 7   HTTP 500
        ├── StoreReplaced     store_replaced            exit 7
        ├── SchemaTooNew      schema_too_new
        ├── UnknownField      unknown_field
        ├── SchemaTooOld      schema_too_old
        ├── MigrationNeedsStop  migration_needs_stop
        ├── ImportUnfinished  import_unfinished
        └── YardClosed        yard_closed

An error's facts are the arguments it was made from, so `ERRORS[code](**facts)` beyond a wire is the same error.
Nothing here knows how an error travels or is shown.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar


class TaskyardError(Exception):
    """Anything the yard refuses or cannot do. The sentence it prints says what to do about it."""

    code: ClassVar[str]
    retryable: ClassVar[bool] = False  # the same call, unchanged, may succeed later
    exit_status: ClassVar[int]
    http_status: ClassVar[int]
    sentence: ClassVar[str]

    def __init__(self, **facts: object) -> None:
        super().__init__()
        self.facts = facts

    def __str__(self) -> str:
        return self.sentence.format(**self.facts)

    def __reduce__(self) -> tuple[Callable[..., "TaskyardError"], tuple[()]]:
        # An exception is copied and pickled by its positional arguments; this tree is made from facts.
        return partial(type(self), **self.facts), ()


class InvalidInput(TaskyardError):
    """A field breaks a rule. Nothing was stored."""

    code = "invalid_input"
    exit_status = 2
    http_status = 422
    sentence = "Correct {field}: {rule}. Nothing was stored."

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(field=field, rule=rule)


class CycleFound(TaskyardError):
    """The tasks would wait for each other for ever. Nothing was stored."""

    code = "cycle"
    exit_status = 2
    http_status = 422

    def __init__(self, task_ids: Sequence[str]) -> None:
        super().__init__(task_ids=list(task_ids))
        self.task_ids = tuple(task_ids)

    def __str__(self) -> str:
        return f"Leave out one dependency of this cycle: {' -> '.join(self.task_ids)}. Nothing was stored."


class ReportRequired(TaskyardError):
    """The task is completed only with a decision report. The lease stays usable: complete it again with one."""

    code = "decision_report_required"
    exit_status = 2
    http_status = 422
    sentence = "Complete {task_id} again with a decision report. The lease is still held."

    def __init__(self, task_id: str) -> None:
        super().__init__(task_id=task_id)


class InvalidAnswer(TaskyardError):
    """An answer is not what the question asks for. The question stays open."""

    code = "invalid_answer"
    exit_status = 2
    http_status = 422

    def __init__(self, problems: Sequence[Mapping[str, str]]) -> None:
        self.problems = [dict(each) for each in problems]
        super().__init__(problems=self.problems)

    def __str__(self) -> str:
        listed = "; ".join(f"{each['field']}: {each['rule']}" for each in self.problems)
        return f"Correct the answer: {listed}. Nothing was stored."


class TooLarge(TaskyardError):
    """More was sent than one request may carry. Nothing was stored."""

    code = "too_large"
    exit_status = 2
    http_status = 413
    sentence = "Send at most {most_bytes} bytes at once. Nothing was stored."

    def __init__(self, most_bytes: int) -> None:
        super().__init__(most_bytes=most_bytes)


class NotFound(TaskyardError):
    """There is no such thing in this workspace."""

    code = "not_found"
    exit_status = 3
    http_status = 404
    sentence = "Check the id and the workspace: there is no {kind} {id} here."

    def __init__(self, kind: str, id: str) -> None:
        super().__init__(kind=kind, id=id)


class YardMissing(TaskyardError):
    """A command that only looks was started where there is no yard. It makes none."""

    code = "yard_missing"
    exit_status = 3
    http_status = 404
    sentence = (
        "Go to the yard's folder, name the yard with --url, or make one with `taskyard enqueue TYPE`: "
        "there is no file {file}."
    )

    def __init__(self, file: str) -> None:
        super().__init__(file=file)


class TaskGone(TaskyardError):
    """The task whose result is awaited is not there: it was pruned, with its result, or never was."""

    code = "task_gone"
    exit_status = 3
    http_status = 410
    sentence = "Ask sooner, or keep finished work longer: {task_id} is not here any more."

    def __init__(self, task_id: str) -> None:
        super().__init__(task_id=task_id)


class EventsGone(TaskyardError):
    """The reader was away longer than events are kept, and has missed some for good."""

    code = "events_gone"
    exit_status = 3
    http_status = 410
    sentence = "Load the current state, then follow events from {oldest_seq}: earlier ones are no longer kept."

    def __init__(self, oldest_seq: int) -> None:
        super().__init__(oldest_seq=oldest_seq)
        self.oldest_seq = oldest_seq


class Refused(TaskyardError):
    """The request is sound, but what is stored does not allow it."""

    exit_status = 4
    http_status = 409


class IllegalTransition(Refused):
    """The verb does not apply to a task in this state."""

    code = "illegal_transition"
    sentence = "Load {task_id} and decide again: it is {status}, and {verb} does not apply to that."

    def __init__(self, task_id: str, status: str, verb: str) -> None:
        # A plain str, so that a status prints and travels alike whether or not it came as an enum member.
        super().__init__(task_id=task_id, status=str(status), verb=verb)


class LeaseLost(Refused):
    """The agent no longer holds the task. Stop: another attempt may already be running."""

    code = "lease_lost"
    sentence = "Stop working on {task_id}: its lease is lost, and another attempt may already be running."

    def __init__(self, task_id: str) -> None:
        super().__init__(task_id=task_id)


class DuplicateKey(Refused):
    """A live task already has the idempotency key."""

    code = "duplicate_key"
    sentence = "Use {task_id}, or cancel it first: it is live and has the key {key}."

    def __init__(self, key: str, task_id: str) -> None:
        super().__init__(key=key, task_id=task_id)


class IdentityTaken(Refused):
    """The name means another agent. Nothing was registered."""

    code = "identity_taken"
    sentence = "Choose another name than {name}: {why}. Nothing was registered."

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name=name, why=why)


class AlreadyAnswered(Refused):
    """Somebody else was quicker, or the time was over: of several answers, the first counts."""

    code = "already_answered"
    sentence = "Leave it at that: {name} of {task_id} was answered by {by} at {at}. Nothing was stored."

    def __init__(self, task_id: str, name: str, by: str, at: str) -> None:
        super().__init__(task_id=task_id, name=name, by=by, at=at)


class YardMoved(Refused):
    """The yard was written to while it was read as a whole, so what was read does not fit together."""

    code = "yard_moved"
    sentence = "Stop what works on this yard, and try again: {what} changed meanwhile."

    def __init__(self, what: str) -> None:
        super().__init__(what=what)


class CutoverRefused(Refused):
    """A queue is not to take the place of another yet: the phase before has not shown that it can."""

    code = "cutover_refused"
    sentence = "Do not go on to {phase} of {name} yet: {why}. Force it where you know better."

    def __init__(self, name: str, phase: str, why: str) -> None:
        super().__init__(name=name, phase=phase, why=why)


class TaskFailed(Refused):
    """The task whose result is awaited is a dead letter: it has no result unless a person decides otherwise."""

    code = "task_failed"
    sentence = "Look at the dead letter: {task_id} has failed for good, with {reason}: {error}."

    def __init__(self, task_id: str, reason: str, error: str) -> None:
        super().__init__(task_id=task_id, reason=reason, error=error)


class TaskCancelled(Refused):
    """The task whose result is awaited was cancelled."""

    code = "task_cancelled"
    sentence = "Do not wait for {task_id}: it was cancelled, {reason}."

    def __init__(self, task_id: str, reason: str) -> None:
        super().__init__(task_id=task_id, reason=reason)


class Unauthorized(TaskyardError):
    """No token was shown, or none that is good."""

    code = "unauthorized"
    exit_status = 5
    http_status = 401
    sentence = "Show a token that is good: TASKYARD_TOKEN for this program, Authorization: Bearer for others."


class DeliveryRefused(TaskyardError):
    """A webhook is not taken. The log says why; the answer to its sender does not."""

    code = "delivery_refused"
    exit_status = 5
    http_status = 401
    sentence = "Check the hook's name, its secret, the clock and the id: the delivery was refused."


class Forbidden(TaskyardError):
    """The caller may not do this."""

    code = "forbidden"
    exit_status = 5
    http_status = 403
    sentence = "Ask somebody who may: {why}."

    def __init__(self, why: str) -> None:
        super().__init__(why=why)


class Unavailable(TaskyardError):
    """The yard cannot serve the request now. It was not refused for what it asks."""

    exit_status = 6
    http_status = 503


class Contended(Unavailable):
    """Others kept changing the same rows, through the last try. Nothing was stored."""

    code = "contended"
    retryable = True
    sentence = "Call again in a moment: others changed the same rows through all {tries} tries. Nothing was stored."

    def __init__(self, tries: int) -> None:
        super().__init__(tries=tries)


class TooManyRequests(Unavailable):
    """The caller asks faster than it may. Nothing was stored."""

    code = "too_many_requests"
    retryable = True
    http_status = 429
    sentence = "Call again in {wait_sec} s: these were too many calls. Nothing was stored."

    def __init__(self, wait_sec: float) -> None:
        super().__init__(wait_sec=wait_sec)


class TooManyListeners(Unavailable):
    """As many connections listen with this token as may. Close one of them first."""

    code = "too_many_listeners"
    retryable = True
    http_status = 429
    sentence = "Close a connection that follows events first: {most} may be open at a time."

    def __init__(self, most: int) -> None:
        super().__init__(most=most)


class EmbedderFailed(Unavailable):
    """The embedder gave no vectors. What it should embed waits; nothing else does."""

    code = "embedder_failed"
    retryable = True
    sentence = "Call again once the embedder answers: {detail}."

    def __init__(self, detail: str) -> None:
        super().__init__(detail=detail)


class StoreUnavailable(Unavailable):
    """The store does not answer. Whether the last write was stored is unknown until it is asked again."""

    code = "store_unavailable"
    retryable = True
    sentence = "Call again once the store answers: {detail}."

    def __init__(self, detail: str) -> None:
        super().__init__(detail=detail)


class StoreFull(Unavailable):
    """The store has no room left. Nothing was stored."""

    code = "store_full"
    http_status = 507
    sentence = "Make room in the store, then call again: {detail}. Nothing was stored."

    def __init__(self, detail: str) -> None:
        super().__init__(detail=detail)


class StoreReadOnly(Unavailable):
    """The store takes no writes: a replica, or a file without write permission."""

    code = "store_read_only"
    sentence = "Connect to a store that takes writes: {detail}."

    def __init__(self, detail: str) -> None:
        super().__init__(detail=detail)


class StoreCorrupt(Unavailable):
    """What is stored is damaged. To call again does not help."""

    code = "store_corrupt"
    exit_status = 7
    http_status = 500
    sentence = "Stop all processes and restore a backup: what is stored is damaged: {detail}."

    def __init__(self, detail: str) -> None:
        super().__init__(detail=detail)


class StoreReplaced(Unavailable):
    """The file was deleted, or another was put in its place, while this process had it open."""

    code = "store_replaced"
    exit_status = 7
    sentence = "Restart this process: {detail} was deleted or replaced while it was open, and takes no more from here."

    def __init__(self, detail: str) -> None:
        super().__init__(detail=detail)


class SchemaTooNew(Unavailable):
    """A newer release has changed the store in a way that this one cannot work with."""

    code = "schema_too_new"
    sentence = "Upgrade this taskyard: the store is at schema {stored}, and it knows up to {known}."

    def __init__(self, stored: int, known: int) -> None:
        super().__init__(stored=stored, known=known)


class UnknownField(Unavailable):
    """A newer release has stored something of a task that this one does not know."""

    code = "unknown_field"
    sentence = "Upgrade this taskyard: a stored task has the field {field}, which this release does not know."

    def __init__(self, field: str) -> None:
        super().__init__(field=field)


class SchemaTooOld(Unavailable):
    """The store has not been brought to this release yet, and this process must not do so itself."""

    code = "schema_too_old"
    sentence = "Run `taskyard migrate apply`: the store is at schema {stored}, and this release works with {known}."

    def __init__(self, stored: int, known: int) -> None:
        super().__init__(stored=stored, known=known)


class MigrationNeedsStop(Unavailable):
    """The store is of an older release, which cannot go on after the migration: `taskyard migrate apply` does it."""

    code = "migration_needs_stop"
    sentence = (
        "Stop every process of this yard, back it up, and run `taskyard migrate apply`: the store is at schema"
        " {stored}, this release works with {known}, and with that older releases cannot go on."
    )

    def __init__(self, stored: int, known: int) -> None:
        super().__init__(stored=stored, known=known)


class ImportUnfinished(Unavailable):
    """The store holds a part of an imported yard. Whoever worked on it would work on half of the tasks."""

    code = "import_unfinished"
    sentence = (
        "Run `taskyard import` again with the same file, or empty the store: the import that began at {began_at} did "
        "not finish, and {line} lines are stored."
    )

    def __init__(self, began_at: str, line: int) -> None:
        super().__init__(began_at=began_at, line=line)


class YardClosed(Unavailable):
    """The yard was closed before the call."""

    code = "yard_closed"
    sentence = "Connect again: this yard is closed."


def _leaves(error: type[TaskyardError]) -> list[type[TaskyardError]]:
    below = error.__subclasses__()
    return [leaf for each in below for leaf in _leaves(each)] if below else [error]


ERRORS: dict[str, type[TaskyardError]] = {error.code: error for error in _leaves(TaskyardError)}
