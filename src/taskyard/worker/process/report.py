"""What a worker says of its work: a line for each claim, and one for each end of an attempt.

A line costs nothing where nobody reads it. What others wrote (titles, errors) is shown as text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from time import monotonic

from taskyard.core.task import Status
from taskyard.core.units import SECOND, Micros, to_usd
from taskyard.features.attempts.views import Receipt
from taskyard.visible_text import visible
from taskyard.worker.context import Context

logger = logging.getLogger("taskyard.worker")
LONGEST = 200  # characters of a title or an error; the whole is in the yard


def claimed(contexts: Iterable[Context]) -> None:
    if logger.isEnabledFor(logging.INFO):
        for context in contexts:
            title = context.task.title
            named = f' "{_short(title)}"' if title else ""
            logger.info("claimed %s%s, attempt %d", _of(context), named, context.attempt)


def ended(context: Context, receipt: Receipt, now: Callable[[], Micros]) -> None:
    """The output was handed in."""
    if not logger.isEnabledFor(logging.INFO):
        return
    match receipt.status:
        case Status.COMPLETED:
            logger.info("completed %s in %s", _of(context), _took(context))
        case Status.VALIDATING:
            logger.info("handed in %s after %s; its output is being judged", _of(context), _took(context))
        case _:
            failed(context, "its output was refused", receipt, now)


def failed(
    context: Context,
    why: str,
    receipt: Receipt,
    now: Callable[[], Micros],
    *,
    error: BaseException | None = None,
) -> None:
    if logger.isEnabledFor(logging.INFO):
        follows = _follows(receipt, now())
        logger.info("failed %s after %s: %s; %s", _of(context), _took(context), _short(why), follows, exc_info=error)


def suspended(context: Context, why: str) -> None:
    logger.info("suspended %s: %s", _of(context), _short(why))


def stopped(context: Context, word: str) -> None:
    level = logging.WARNING if word == "lease_lost" else logging.INFO
    given_back = ", and given back" if word == "stopping" else ""
    logger.log(level, "stopped %s: %s%s", _of(context), word, given_back)


def _of(context: Context) -> str:
    return f"{context.id} ({visible(context.type)})"


def _took(context: Context) -> str:
    seconds = f"{monotonic() - context.began:.1f} s"
    return f"{seconds}, ${to_usd(context.cost)}" if context.cost else seconds


def _follows(receipt: Receipt, now: Micros) -> str:
    match receipt.status:
        case Status.RETRYING if receipt.wake_at is not None:
            return f"tried again in {max(0, receipt.wake_at - now) / SECOND:.0f} s"
        case Status.DEAD_LETTERED:
            return "dead-lettered, for a person to decide"
        case Status.READY:
            return "tried again at once"
        case other:
            return f"now {other.value}"


def _short(text: str) -> str:
    line = visible(" ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
