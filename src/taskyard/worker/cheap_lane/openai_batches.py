"""OpenAI's batch endpoint: an uploaded file of requests, a batch of it, and files of answers and of errors.

A batch carries its key in its metadata, by which the list of batches is searched after a crash. It expires after 24
hours; what was answered until then is in its files.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from secrets import token_hex
from typing import Any

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.units import SECOND, Micros
from taskyard.features.budgets.token_counts import openai_usage
from taskyard.features.provider_batches.views import CallOutcome
from taskyard.worker.cheap_lane.batch_provider import BatchTerms, ProviderCall, ProviderError, ProviderResult, SentBatch
from taskyard.worker.cheap_lane.provider_http import SHOWN, ProviderHttp, checked_id, member, objects

logger = logging.getLogger("taskyard.batches")
KEY = "OPENAI_API_KEY"
METADATA = "taskyard_batch"
PAGE = 100
MOST_PAGES = 100  # of the provider's list
SKEW = 600  # seconds that the provider's clock may differ from the yard's
_OVER = frozenset({"completed", "failed", "expired", "cancelled"})
_NOT_DONE = frozenset({"batch_expired", "batch_cancelled"})


class OpenAIBatches:
    """`Agent(batch=OpenAIBatches())`. The key is given, or in OPENAI_API_KEY."""

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str = "https://api.openai.com",
        endpoint: str = "/v1/chat/completions",
        terms: BatchTerms | None = None,
    ) -> None:
        key = api_key or os.environ.get(KEY)
        if not key:
            raise InvalidInput("api_key", f"must be given, or be in {KEY}")
        if not endpoint.startswith("/v1/"):
            raise InvalidInput("endpoint", "must be a path such as /v1/chat/completions or /v1/responses")
        self._http = ProviderHttp(base_url, {"Authorization": f"Bearer {key}"})
        self._endpoint = endpoint
        self.terms = terms or BatchTerms()
        self.name = f"openai:{self._http.host}"

    def group_of(self, request: Json) -> str:
        """A file of requests is for one endpoint and one model."""
        return f"{self._endpoint} {self.model_of(request)}"

    def model_of(self, request: Json) -> str | None:
        model = request.get("model") if isinstance(request, dict) else None
        return model if isinstance(model, str) else None

    async def call(self, request: Json) -> Json:
        return await self._http.post(self._endpoint, request)

    def spent(self, answer: Any) -> Mapping[str, Any]:
        return {**openai_usage(member({"answer": answer}, "answer").get("usage")), "model": self.model_of(answer)}

    async def send(self, key: str, calls: Sequence[ProviderCall]) -> SentBatch:
        lines = [
            json.dumps({"custom_id": each.custom_id, "method": "POST", "url": self._endpoint, "body": each.request})
            for each in calls
        ]
        content, content_type = _form("\n".join(lines).encode())
        file_id = checked_id((await self._http.upload("/v1/files", content, content_type)).get("id"))
        asked: dict[str, Json] = {
            "input_file_id": file_id,
            "endpoint": self._endpoint,
            "completion_window": "24h",
            "metadata": {METADATA: key},
        }
        return _sent(await self._http.post("/v1/batches", asked))

    async def find(self, key: str, custom_ids: Sequence[str], *, since: Micros) -> SentBatch | None:  # noqa: ARG002
        earliest, after = since / SECOND - SKEW, dict[str, str]()
        for _ in range(MOST_PAGES):
            page = await self._http.get("/v1/batches", limit=str(PAGE), **after)
            batches = objects(page.get("data"))
            for batch in batches:
                if member(batch, "metadata").get(METADATA) == key:
                    return _sent(batch)
            if not page.get("has_more") or not batches or batches[-1].get("created_at", 0) < earliest:
                return None
            after = {"after": checked_id(batches[-1].get("id"))}
        raise ProviderError("the provider's list of batches is too long to be searched")

    async def is_over(self, batch_id: str) -> bool:
        batch = await self._batch(batch_id)
        if batch.get("status") == "failed":  # as a whole, so nothing of it was carried out
            reasons = "; ".join(str(each.get("message")) for each in objects(member(batch, "errors").get("data")))
            logger.warning("%s failed: %s", batch_id, reasons[:SHOWN])
        return batch.get("status") in _OVER

    async def cancel(self, batch_id: str) -> None:
        await self._http.post(f"/v1/batches/{checked_id(batch_id)}/cancel", {})

    async def results(self, batch_id: str) -> AsyncIterator[ProviderResult]:
        batch = await self._batch(batch_id)
        if member(batch, "request_counts").get("completed") and not batch.get("output_file_id"):
            raise ProviderError(f"{batch_id} has answers, and no file of them yet")
        for name in ("output_file_id", "error_file_id"):
            if file_id := batch.get(name):  # None or "": there is none
                async for line in self._http.lines(f"/v1/files/{checked_id(file_id)}/content"):
                    yield _result(line)

    async def _batch(self, batch_id: str) -> dict[str, Any]:
        return await self._http.get(f"/v1/batches/{checked_id(batch_id)}")


def _sent(batch: Mapping[str, Any]) -> SentBatch:
    expires = batch.get("expires_at")
    return SentBatch(checked_id(batch.get("id")), Micros(expires * SECOND) if isinstance(expires, int) else None)


def _result(line: Mapping[str, Any]) -> ProviderResult:
    custom_id = str(line.get("custom_id"))
    response, error = member(line, "response"), member(line, "error")
    status, body = response.get("status_code"), response.get("body")
    if status == 200:
        return ProviderResult(custom_id, CallOutcome.ANSWERED, body)
    if error.get("code") in _NOT_DONE:
        return ProviderResult(custom_id, CallOutcome.EXPIRED, None)
    return ProviderResult(custom_id, CallOutcome.FAILED, body or error, status)


def _form(content: bytes) -> tuple[bytes, str]:
    """A form with the file, in a frame that does not occur in it."""
    frame = token_hex(24)
    purpose = f'--{frame}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    file = (
        f'--{frame}\r\nContent-Disposition: form-data; name="file"; filename="batch.jsonl"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    )
    body = b"".join([purpose.encode(), file.encode(), content, f"\r\n--{frame}--\r\n".encode()])
    return body, f"multipart/form-data; boundary={frame}"
