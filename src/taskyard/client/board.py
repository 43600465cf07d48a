"""The board of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.client.tasks import SPELLED
from taskyard.features.board.service import Boards


class RemoteBoards(Remote, Boards):
    show = over_http(Boards.show, calls.BOARD, names=SPELLED)
