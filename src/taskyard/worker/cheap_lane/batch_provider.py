"""What a provider of model calls can do in batches, and how a plugin is one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

from taskyard import plugins
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.units import Micros
from taskyard.features.provider_batches.views import CallOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTerms:
    """How patient the cheap lane is. Before a deadline, `ordinary_sec` and `cancel_sec` are kept free."""

    gather_sec: float = 60  # that calls are gathered for, from the first one on
    ordinary_sec: float = 300  # before the deadline: the last moment for a call that has no answer from its batch
    cancel_sec: float = 600  # before that: a batch without an answer is cancelled, which takes the provider a while
    # Where a provider has not said in time what became of a call: True, it is made in the ordinary way as well, so that
    # it is not late; False, it is waited for, so that it is not paid for twice.
    may_pay_twice: bool = True
    poll_sec: float = 30  # between looks at a batch, at first; longer as the batch gets older
    longest_poll_sec: float = 300
    # After a crash while a batch was being sent: the provider's list is searched when what was under way has ended.
    search_after_sec: float = 60
    most_calls: int = 10_000  # of one batch of the provider
    most_bytes: int = 32 << 20


class ProviderCall(NamedTuple):
    custom_id: str
    request: Json


class SentBatch(NamedTuple):
    id: str  # what the provider calls it
    expires_at: Micros | None


class ProviderResult(NamedTuple):
    custom_id: str
    outcome: CallOutcome
    answer: Json  # the body of the answer, or of the error
    status: int | None = None  # of an error


class UnknownYet(Exception):
    """Whether the provider has the batch is not known before batches that may be it have ended."""


class ProviderError(Exception):
    """The provider refused a call. Its status and headers say what follows, as with its own library."""

    def __init__(self, message: str, status_code: int | None = None, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.headers = headers or {}

    @property
    def is_refusal(self) -> bool:
        """Whether the provider has refused the request itself: nothing came of it, and nothing will."""
        return self.status_code in (400, 404, 405, 413, 415, 422)


class BatchProvider(Protocol):
    """A provider with batches. Every call of it may be repeated after a crash, but for `send`."""

    name: str  # of the provider and its address, without any secret
    terms: BatchTerms

    def group_of(self, request: Json) -> str:
        """What requests must have in common to be in one batch, such as their model."""
        ...

    def model_of(self, request: Json) -> str | None: ...

    async def call(self, request: Json) -> Json:
        """Make one call now, at the ordinary price."""
        ...

    def spent(self, answer: Any) -> Mapping[str, Any]:
        """What an answer cost: model and tokens, as the arguments of `Context.spend`."""
        ...

    async def send(self, key: str, calls: Sequence[ProviderCall]) -> SentBatch:
        """Send these calls as one batch, findable by the key."""
        ...

    async def find(self, key: str, custom_ids: Sequence[str], *, since: Micros) -> SentBatch | None:
        """The batch that was sent under the key since then; None: there is none. `UnknownYet` where neither is sure."""
        ...

    async def is_over(self, batch_id: str) -> bool:
        """Whether the provider does nothing more about the batch: `results` has all that will come of it."""
        ...

    async def cancel(self, batch_id: str) -> None:
        """Ask the provider to begin nothing more of the batch. It is over some time later."""
        ...

    def results(self, batch_id: str) -> AsyncIterator[ProviderResult]:
        """What came of each call of a batch that is over. A call may be missing: it was not carried out."""
        ...


Provider = BatchProvider | str  # itself, or its name


def provider_of(given: Provider | None) -> BatchProvider:
    """The provider of an agent: itself, or what a package offers under the name."""
    if given is None:
        raise InvalidInput("batch", "must be given where calls are made by it: Agent(batch=OpenAIBatches())")
    return _named(given) if isinstance(given, str) else given


@cache
def _named(given: str) -> BatchProvider:
    """The provider of this name, which all agents of the process share."""
    try:
        found = _built_in(given)
    except ImportError as error:
        raise InvalidInput("batch", str(error)) from None
    found = found or plugins.load(plugins.PROVIDERS, given, "batch")
    if found is None:
        raise InvalidInput("batch", f"must be one of {plugins.one_of(_NAMES, plugins.PROVIDERS)}")
    made: Any = found() if callable(found) else found
    if not hasattr(made, "send") or not hasattr(made, "results"):
        raise plugins.unfit(plugins.PROVIDERS, given, "batch", "provider of batches")
    provider: BatchProvider = made
    return provider


_NAMES = ("openai", "anthropic")


def _built_in(name: str) -> object | None:
    if name == "openai":
        from taskyard.worker.cheap_lane.openai_batches import OpenAIBatches  # noqa: PLC0415 - it needs the HTTP client

        return OpenAIBatches
    if name == "anthropic":
        from taskyard.worker.cheap_lane.anthropic_batches import (  # noqa: PLC0415 - the same
            AnthropicBatches,
        )

        return AnthropicBatches
    return None
