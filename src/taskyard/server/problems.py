"""Errors as problem documents (RFC 9457), with the code, and whether the same call may succeed later."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from secrets import token_hex
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from taskyard.core.errors import InvalidInput, TaskyardError
from taskyard.core.jsonvalue import compact
from taskyard.core.task import Json

logger = logging.getLogger("taskyard.server")
MEDIA_TYPE = "application/problem+json"
# What the framework itself refuses, in the manner of the yard's own codes.
_CODES = {404: "no_such_route", 405: "no_such_method", 400: "bad_request"}


def problem(status: int, code: str, detail: str, *, retryable: bool = False, **more: Json) -> Response:
    document: dict[str, Json] = {
        "type": f"urn:taskyard:{code}",
        "title": code.replace("_", " "),
        "status": status,
        "detail": detail,
        "code": code,
        "retryable": retryable,
        **more,
    }
    return Response(compact(document), status, media_type=MEDIA_TYPE)


def of_error(error: TaskyardError) -> Response:
    facts = cast("dict[str, Json]", error.facts)
    answer = problem(error.http_status, error.code, str(error), retryable=error.retryable, facts=facts)
    if error.retryable:
        answer.headers["Retry-After"] = "1"
    if error.http_status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


def install(app: FastAPI) -> None:
    app.add_exception_handler(TaskyardError, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(Exception, _failed)


async def _refused(_: Request, error: Exception) -> Response:
    return of_error(cast(TaskyardError, error))


async def _malformed(_: Request, error: Exception) -> Response:
    """What the models of a call refuse is said as the yard itself would: the field, and the rule."""
    first = cast(RequestValidationError, error).errors()[0]
    return of_error(InvalidInput(_field(first["loc"]), _rule(first)))


async def _unknown(_: Request, error: Exception) -> Response:
    refusal = cast(HTTPException, error)
    code = _CODES.get(refusal.status_code, "refused")
    answer = problem(refusal.status_code, code, str(refusal.detail))
    answer.headers.update(refusal.headers or {})
    return answer


async def _failed(_: Request, error: Exception) -> Response:
    """A fault of ours. The caller gets a number to quote, the log gets the rest."""
    number = token_hex(8)
    logger.error("request failed, error %s", number, exc_info=error)
    return problem(500, "internal_error", f"Report this error, number {number}.", error_id=number)


def _field(where: Sequence[Any]) -> str:
    names = [str(each) for each in where if each not in ("body", "query", "path", "header")]
    return ".".join(names)[:200].encode("ascii", "backslashreplace").decode() or "body"


def _rule(error: dict[str, Any]) -> str:
    match error["type"]:
        case "extra_forbidden":
            return "is not a field of this call"
        case "missing":
            return "must be given"
        case _:
            message = str(error["msg"])
            return message[0].lower() + message[1:]
