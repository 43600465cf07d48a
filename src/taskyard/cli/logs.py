"""How long-running commands tell what they do: readable lines for people, JSON for machines, and no secrets in either.

Everything else in taskyard logs through `logging`; only here is decided what becomes of it.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from taskyard.visible_text import visible

_HIDDEN = "[hidden]"
# In the order they are looked for, each with words of which a text must have one. What is kept of a secret is enough to
# tell which one it was.
_SECRETS = (
    (("ty_",), re.compile(r"\b(ty_[0-9A-Z]{26})_[0-9A-Za-z_-]{10,}"), rf"\1_{_HIDDEN}"),
    (("lease_",), re.compile(r"\blease_[0-9a-f]{8,}(\.\d+)?"), f"lease_{_HIDDEN}"),
    (("bearer", "basic"), re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',\\]+"), rf"\1 {_HIDDEN}"),
    (
        ("authorization",),
        re.compile(r"(?i)(authorization[\"']?\s*[:=]\s*[\"']?)(?!bearer|basic)[^\s\"',\\]+"),
        rf"\1{_HIDDEN}",
    ),
    # A password may have anything in it but what ends the part of a URL that it stands in.
    (("://",), re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s/:@\"']*):[^\s/\"']*@"), rf"\1:{_HIDDEN}@"),
    (
        ("password", "secret", "api_key", "apikey"),
        re.compile(r"(?i)\b(password|secret|api_?key)([\"']?\s*[:=]\s*[\"']?)[^\s\"',&\\]+"),
        rf"\1\2{_HIDDEN}",
    ),
)


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


LogFormatOption = Annotated[LogFormat, typer.Option("--log-format", help="text for people, json for machines.")]


def redacted(text: str) -> str:
    """The text without what proves who somebody is."""
    # Expressions take half of the time of a line, and nearly no line has anything for them. Beyond ASCII some letters
    # are others in another case, so there each expression is tried.
    lower = text.lower() if text.isascii() else None
    for words, pattern, kept in _SECRETS:
        if lower is None or any(word in lower for word in words):
            text = pattern.sub(kept, text)
    return text


class Redacting(logging.Formatter):
    """The last to touch a line, so that nothing in it is passed over: neither a field nor a traceback."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        written = self._inner.format(record)
        # What somebody else wrote cannot begin a line, and so cannot pass for one of ours.
        return redacted(written).replace("\n", "\n    ")


class RedactingFilter(logging.Filter):
    """For handlers that export records by themselves: a record is its text, and no secret is left in it.

    It changes the record, so these handlers come last.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        text = logging.Formatter().format(record)  # with the traceback
        for name, value in vars(record).items():
            if isinstance(value, str):
                setattr(record, name, redacted(value))
        record.msg, record.args = redacted(text), None
        record.exc_info = record.exc_text = record.stack_info = None
        return True


class TextFormatter(logging.Formatter):
    """Lines without colours, for where structlog is not installed."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def _shown(_logger: object, _method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    """Before colours are added: every text of an event, with nothing left in it that a terminal obeys."""
    return {name: visible(value) if isinstance(value, str) else value for name, value in event.items()}


def _shown_json(_logger: object, _method: str, written: Any) -> str:
    """The same JSON: what is escaped stands only inside its texts."""
    return visible(str(written))


def set_up_logs(format: LogFormat, *, level: int = logging.INFO) -> None:
    """Send what this program logs to standard error, and to OpenTelemetry where that has put a handler."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Redacting(_formatter(format)))
    exporters = [each for each in logging.getLogger().handlers if type(each).__module__.startswith("opentelemetry.")]
    for each in exporters:
        logging.getLogger().removeHandler(each)  # the next line closes those that are left
        each.addFilter(RedactingFilter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler, *exporters], force=True)
    logging.getLogger("taskyard").setLevel(level)


def _formatter(format: LogFormat) -> logging.Formatter:
    try:
        import structlog  # noqa: PLC0415 - comes with the server, and a worker may do without
    except ModuleNotFoundError:
        return TextFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    is_json = format is LogFormat.JSON
    shared = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    # The plain traceback, not the one with the values of variables: who knows what they hold.
    renderer = (
        structlog.processors.JSONRenderer(ensure_ascii=False, default=str)
        if is_json
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), sort_keys=False)
    )
    shown = [renderer, _shown_json] if is_json else [_shown, renderer]
    last = [structlog.processors.format_exc_info, *shown]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    )
