"""Errors as problem documents (RFC 9457), with the code, and whether the same call may succeed later."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, TypeVar, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Route

from taskyard.core.errors import InvalidInput, TaskyardError
from taskyard.core.json_value import Json, compact

MEDIA_TYPE = "application/problem+json"
DENIED = frozenset({401, 403, 429})  # refused for who calls, or how often
# What the framework itself refuses, in the manner of the yard's own codes.
_CODES = {400: "bad_request", 404: "no_such_route", 405: "no_such_method", 408: "too_slow", 416: "no_such_range"}


def problem(status: int, code: str, detail: str, *, retryable: bool = False, **more: Json) -> Response:
    document = _document(status, code, detail, retryable=retryable, **more)
    return Response(compact(document), status, media_type=MEDIA_TYPE)


def of_error(error: TaskyardError) -> Response:
    answer = Response(compact(document_of(error)), error.http_status, media_type=MEDIA_TYPE)
    if error.retryable:
        wait = error.facts.get("wait_sec")
        answer.headers["Retry-After"] = str(ceil(wait)) if isinstance(wait, int | float) else "1"
    if error.http_status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


def document_of(error: TaskyardError) -> dict[str, Json]:
    facts = cast("dict[str, Json]", error.facts)
    return _document(error.http_status, error.code, str(error), retryable=error.retryable, facts=facts)


def _document(status: int, code: str, detail: str, *, retryable: bool, **more: Json) -> dict[str, Json]:
    return {
        "type": f"urn:taskyard:{code}",
        "title": code.replace("_", " "),
        "status": status,
        "detail": detail,
        "code": code,
        "retryable": retryable,
        **more,
    }


E = TypeVar("E", bound=Exception)


def install(app: FastAPI) -> None:
    app.add_exception_handler(TaskyardError, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _unknown)


def _of_kind(kind: type[E], error: Exception) -> E:
    """The error that a handler is installed for; any other is no answer."""
    if not isinstance(error, kind):
        raise error
    return error


async def _refused(request: Request, error: Exception) -> Response:
    refusal = _of_kind(TaskyardError, error)
    if refusal.http_status in DENIED:
        request.state.refusal = refusal
    return of_error(refusal)


async def _malformed(_: Request, error: Exception) -> Response:
    return of_error(of_model(_of_kind(RequestValidationError, error).errors()))


def of_model(errors: Sequence[Any]) -> InvalidInput:
    """What a model refuses is said as the yard itself would: the field, and the rule."""
    return InvalidInput(_field(errors[0]["loc"]), _rule(errors[0]))


async def _unknown(request: Request, error: Exception) -> Response:
    refusal = _of_kind(HTTPException, error)
    code = _CODES.get(refusal.status_code, "refused")
    answer = problem(refusal.status_code, code, str(refusal.detail))
    answer.headers.update(refusal.headers or {})
    if refusal.status_code == 405:
        answer.headers["Allow"] = ", ".join(_methods_at(request))
    if refusal.status_code == 408:
        answer.headers["Connection"] = "close"
    return answer


def _methods_at(request: Request) -> list[str]:
    """Every method that the path has; the framework would name those of one route."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    here = [route.methods or () for route in routes if route.path_regex.match(request.scope["path"])]
    return sorted({method for methods in here for method in methods})


def fault(number: str) -> Response:
    """A fault of ours. The caller gets a number to quote, the log gets the rest."""
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
        case "model_attributes_type" | "model_type" | "dict_type":
            return "must be a JSON object"
        case _:
            message = str(error["msg"])
            return message[0].lower() + message[1:]
