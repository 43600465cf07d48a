"""What a saved view is: a page of the dashboard, and what its address asks for. Pure."""

from __future__ import annotations

from typing import Literal, TypedDict, get_args

from taskyard.core.errors import InvalidInput
from taskyard.core.record_kinds import RecordKind
from taskyard.core.units import Micros
from taskyard.definition import fields

KIND = "saved_view"
MOST_VIEWS = 200  # of a workspace
LONGEST_NAME = 100
LONGEST_QUERY = 2000
LONGEST_DESCRIPTION = 1000

ViewedPage = Literal["tasks", "dags", "reports", "audit", "events", "board"]
PAGES: tuple[str, ...] = get_args(ViewedPage)


class SavedViewBody(TypedDict):
    page: str
    query: str
    description: str
    by: str
    at: Micros


SAVED_VIEW = RecordKind(KIND, SavedViewBody)


def name_of(given: object) -> str:
    """What a view is called by: it is a word of a menu, and stands in one line."""
    name = fields.name(given, "name", most=LONGEST_NAME)
    if not name.isprintable():
        raise InvalidInput("name", "must be one line, without control characters")
    return name


def page_of(given: object) -> str:
    if given not in PAGES:
        raise InvalidInput("page", f"must be one of {', '.join(PAGES)}")
    return str(given)


def query_of(given: str) -> str:
    """What an address says behind its question mark: it is shown as a link, and leads nowhere else."""
    if given.startswith("?") or "#" in given or not given.isprintable() or any(each.isspace() for each in given):
        raise InvalidInput("query", "must be what stands behind the question mark of an address")
    return given
