"""Saved views of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.saved_views.service import SavedViews


class RemoteSavedViews(Remote, SavedViews):
    save = over_http(SavedViews.save, calls.SAVE_VIEW)
    list = over_http(SavedViews.list, calls.SAVED_VIEWS)
    remove = over_http(SavedViews.remove, calls.REMOVE_VIEW)
