"""Saved views: lists under names, for everybody in the workspace."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from taskyard.api import calls, openapi
from taskyard.api import request_models as models
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.features.saved_views.views import SavedView
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("saved_views")
SAVED_VIEWS = openapi.answer("SavedViews", saved_views=list[SavedView])
ViewAt = Annotated[str, Path(description="A saved view's name.", max_length=255)]


@routes.add(calls.SAVE_VIEW, model(SavedView))
async def save_view(caller: Calling, name: ViewAt, draft: models.SavedViewDraft) -> Response:
    """Save a list under a name, in place of the one that has it."""
    saved = await caller.yard.saved_views.save(
        name, draft.page, draft.query, description=draft.description, by=caller.by
    )
    return answer(write(saved))


@routes.add(calls.SAVED_VIEWS, SAVED_VIEWS)
async def saved_views(caller: Calling) -> Response:
    """The saved views of the workspace, by their names."""
    return answer({"saved_views": write(await caller.yard.saved_views.list())})


@routes.add(calls.REMOVE_VIEW, DONE)
async def remove_view(caller: Calling, name: ViewAt) -> Response:
    """Forget a saved view."""
    await caller.yard.saved_views.remove(name, by=caller.by)
    return answer({"ok": True})
