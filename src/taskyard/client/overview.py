"""Overview of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.overview.service import Overviews


class RemoteOverviews(Remote, Overviews):
    figures = over_http(Overviews.figures, calls.OVERVIEW)
    series = over_http(Overviews.series, calls.SERIES, names={"by": "by"})  # not who asks
