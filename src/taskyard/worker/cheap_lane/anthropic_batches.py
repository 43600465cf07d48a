"""Anthropic's message batches: requests in one call, and a file of results when the batch has ended.

A message batch carries no key of ours. After a crash, batches that were made since and have as many calls may be the
one: their results name the calls, as soon as they have ended. Where nobody else makes batches with this key, the only
one of that size is taken for ours at once (`is_exclusive`).
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.units import SECOND, Micros, from_iso
from taskyard.features.budgets.token_counts import anthropic_usage
from taskyard.features.provider_batches.views import CallOutcome
from taskyard.worker.cheap_lane.batch_provider import (
    BatchTerms,
    ProviderCall,
    ProviderError,
    ProviderResult,
    SentBatch,
    UnknownYet,
)
from taskyard.worker.cheap_lane.provider_http import ProviderHttp, checked_id, member, objects

KEY = "ANTHROPIC_API_KEY"
VERSION = "2023-06-01"
PATH = "/v1/messages/batches"
PAGE = 100
MOST_PAGES = 100  # of the provider's list
SKEW = 600  # seconds that the provider's clock may differ from the yard's
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "overloaded_error": 529,
}


class AnthropicBatches:
    """`Agent(batch=AnthropicBatches())`. The key is given, or in ANTHROPIC_API_KEY."""

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str = "https://api.anthropic.com",
        is_exclusive: bool = False,
        terms: BatchTerms | None = None,
    ) -> None:
        key = api_key or os.environ.get(KEY)
        if not key:
            raise InvalidInput("api_key", f"must be given, or be in {KEY}")
        self._http = ProviderHttp(base_url, {"X-Api-Key": key, "Anthropic-Version": VERSION})
        self._is_exclusive = is_exclusive
        self.terms = terms or BatchTerms()
        self.name = f"anthropic:{self._http.host}"

    def group_of(self, request: Json) -> str:
        """Requests of all models may be in one batch; one for each model is easier to read."""
        return str(self.model_of(request))

    def model_of(self, request: Json) -> str | None:
        model = request.get("model") if isinstance(request, dict) else None
        return model if isinstance(model, str) else None

    async def call(self, request: Json) -> Json:
        return await self._http.post("/v1/messages", request)

    def spent(self, answer: Any) -> Mapping[str, Any]:
        return {**anthropic_usage(member({"answer": answer}, "answer").get("usage")), "model": self.model_of(answer)}

    async def send(self, key: str, calls: Sequence[ProviderCall]) -> SentBatch:  # noqa: ARG002 - a batch has no room for it
        requests: list[Json] = [{"custom_id": each.custom_id, "params": each.request} for each in calls]
        return _sent(await self._http.post(PATH, {"requests": requests}))

    async def find(self, key: str, custom_ids: Sequence[str], *, since: Micros) -> SentBatch | None:  # noqa: ARG002
        likely = [each async for each in self._since(since) if _size(each) == len(custom_ids)]
        if self._is_exclusive and len(likely) == 1:
            return _sent(likely[0])
        ours, is_sure = frozenset(custom_ids), True
        for batch in likely:
            if batch.get("processing_status") != "ended":
                is_sure = False
            elif await self._first_id(checked_id(batch.get("id"))) in ours:
                return _sent(batch)
        if not is_sure:
            raise UnknownYet
        return None

    async def _since(self, since: Micros) -> AsyncIterator[dict[str, Any]]:
        """The batches that were made since then, newest first."""
        after: dict[str, str] = {}
        for _ in range(MOST_PAGES):
            page = await self._http.get(PATH, limit=str(PAGE), **after)
            batches = objects(page.get("data"))
            for batch in batches:
                if from_iso(str(batch.get("created_at"))) < since - SKEW * SECOND:
                    return
                yield batch
            if not page.get("has_more") or not batches:
                return
            after = {"after_id": checked_id(batches[-1].get("id"))}
        raise ProviderError("the provider's list of batches is too long to be searched")

    async def _first_id(self, batch_id: str) -> str | None:
        async with aclosing(self.results(batch_id)) as results:
            async for result in results:
                return result.custom_id
        return None

    async def is_over(self, batch_id: str) -> bool:
        return (await self._http.get(f"{PATH}/{checked_id(batch_id)}")).get("processing_status") == "ended"

    async def cancel(self, batch_id: str) -> None:
        await self._http.post(f"{PATH}/{checked_id(batch_id)}/cancel", {})

    async def results(self, batch_id: str) -> AsyncGenerator[ProviderResult]:
        async for line in self._http.lines(f"{PATH}/{checked_id(batch_id)}/results"):
            yield _result(line)


def _sent(batch: Mapping[str, Any]) -> SentBatch:
    expires = batch.get("expires_at")
    return SentBatch(checked_id(batch.get("id")), from_iso(expires) if isinstance(expires, str) else None)


def _size(batch: Mapping[str, Any]) -> int:
    return sum(count for count in member(batch, "request_counts").values() if isinstance(count, int))


def _result(line: Mapping[str, Any]) -> ProviderResult:
    custom_id, result = str(line.get("custom_id")), member(line, "result")
    match result.get("type"):
        case "succeeded":
            return ProviderResult(custom_id, CallOutcome.ANSWERED, result.get("message"))
        case "errored":
            error = member(result, "error")
            kind = (member(error, "error") or error).get("type")
            return ProviderResult(custom_id, CallOutcome.FAILED, error, _STATUS.get(str(kind)))
        case _:  # canceled, expired: neither carried out nor billed
            return ProviderResult(custom_id, CallOutcome.EXPIRED, None)
