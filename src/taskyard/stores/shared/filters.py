"""Whether a task matches a list's filter, for stores that cannot express the filter as a query."""

from __future__ import annotations

from collections.abc import Iterable

from taskyard.core.task import Attempt, Definition, Hot
from taskyard.stores.contract import Filter


def matches(which: Filter, hot: Hot, definition: Definition) -> bool:
    """Whether the task meets every condition of the filter but `reason`, for which its attempts must be read."""
    holder = hot.agent if hot.status.is_held else None
    texts = (definition.title, definition.prompt, definition.payload)
    return (
        hot.workspace == which.workspace
        and (not which.statuses or hot.status in which.statuses)
        and (not which.types or definition.type in which.types)
        and which.queue in (None, definition.queue)
        and which.agent in (None, definition.agent, holder)
        and which.subject in (None, definition.subject)
        and which.dag_id in (None, hot.dag_id)
        and which.parent_id in (None, definition.parent_id)
        and (which.since is None or hot.created_at >= which.since)
        and (which.until is None or hot.created_at < which.until)
        and (which.tag is None or which.tag in definition.tags)
        and (which.text is None or any(which.text.casefold() in text.casefold() for text in texts))
    )


def has_failed_for(reason: str | None, attempts: Iterable[Attempt]) -> bool:
    """Whether one of the attempts failed for this reason; no reason: any task will do."""
    return reason is None or any(attempt.reason == reason for attempt in attempts)


def may_mention(body: str, wanted: str) -> bool:
    """Whether a stored definition may contain the case-folded text: a quick test before the slow decoding."""
    return not is_verbatim_in_json(wanted) or wanted in body.casefold()


def is_verbatim_in_json(text: str) -> bool:
    """Whether JSON writes the text without escapes."""
    return text.isprintable() and '"' not in text and "\\" not in text
