"""How long-running commands tell what they do: readable lines for people, JSON for machines, and no secrets in either.

Everything else in taskyard logs through `logging`; only here is decided what becomes of it.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime
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
_OF_EVERY_RECORD = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})
_APART = re.compile(r"[\s=\"']")
_LEVEL, _MESSAGE = 9, 30  # letters that the columns have
_COLOURS = {"warning": 33, "error": 31, "critical": 31}  # others are green


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


class RedactingFormatter(logging.Formatter):
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
    """A line for people: when, how bad, what, who says so, and its facts. A traceback follows it."""

    def __init__(self, *, is_coloured: bool) -> None:
        super().__init__()
        self._is_coloured = is_coloured

    def format(self, record: logging.LogRecord) -> str:
        level, message = record.levelname.lower(), visible(record.getMessage())
        facts = "".join([f" {name}={_written(value)}" for name, value in _facts(record).items()])
        line = (
            f"{_time(record)} [{self._coloured(level)}{' ' * (_LEVEL - len(level))}] {message:<{_MESSAGE}} "
            f"[{record.name}]{visible(facts)}"
        )
        error = _error(self, record)
        return f"{line}\n{visible(error)}" if error else line

    def _coloured(self, level: str) -> str:
        return f"\x1b[{_COLOURS.get(level, 32)}m{level}\x1b[0m" if self._is_coloured else level


class JsonFormatter(logging.Formatter):
    """A line for machines: one object, in which what a terminal would obey is escaped."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"event": record.getMessage(), **_facts(record), "level": record.levelname.lower()}
        line |= {"logger": record.name, "timestamp": _time(record)}
        if error := _error(self, record):
            line["exception"] = error
        return visible(json.dumps(line, ensure_ascii=False, default=str))


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    """What was said in `extra`."""
    return {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}


def _written(value: object) -> str:
    """A text of one word as it is, so that lines are easy to read; anything else so that one sees where it ends."""
    return value if isinstance(value, str) and value and not _APART.search(value) else repr(value)


def _error(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    """The plain traceback, not one with the values of variables: who knows what they hold."""
    return formatter.formatException(record.exc_info) if record.exc_info else ""


def set_up_logs(format: LogFormat, *, level: int = logging.INFO) -> None:
    """Send what this program logs to standard error, and to OpenTelemetry where that has put a handler."""
    handler = logging.StreamHandler(sys.stderr)
    is_json = format is LogFormat.JSON
    written = JsonFormatter() if is_json else TextFormatter(is_coloured=sys.stderr.isatty())
    handler.setFormatter(RedactingFormatter(written))
    exporters = [each for each in logging.getLogger().handlers if type(each).__module__.startswith("opentelemetry.")]
    for each in exporters:
        logging.getLogger().removeHandler(each)  # the next line closes those that are left
        each.addFilter(RedactingFilter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler, *exporters], force=True)
    logging.getLogger("taskyard").setLevel(level)
