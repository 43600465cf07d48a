"""What is answered about saved views."""

from __future__ import annotations

from typing import Annotated

from taskyard.core.changes import Record
from taskyard.definition.view import About, Time, view
from taskyard.features.saved_views.rules import SAVED_VIEW


@view
class SavedView:
    """A list under a name."""

    name: str
    page: Annotated[str, About("Of the dashboard.")]
    query: Annotated[str, About("As in the address of the page.")]
    description: str
    by: Annotated[str, About("Who saved it last.")]
    at: Time


def saved_view(record: Record) -> SavedView:
    body = SAVED_VIEW.of(record)
    return SavedView(
        name=record.id,
        page=body["page"],
        query=body["query"],
        description=body["description"],
        by=body["by"],
        at=body["at"],
    )
