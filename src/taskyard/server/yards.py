"""One store, and a yard on it for each workspace that somebody asks for."""

from __future__ import annotations

from taskyard.yard import Yard


class Yards:
    """The yards of one server process. They share the store and its connections, and one of them sweeps for all."""

    def __init__(self, first: Yard) -> None:
        self.first = first
        self._others: dict[str, Yard] = {}

    def of(self, workspace: str) -> Yard:
        """The yard of a workspace: those that have a token, so there are as many as somebody gave out."""
        if workspace == self.first.workspace:
            return self.first
        if workspace not in self._others:
            self._others[workspace] = self.first.beside(workspace)
        return self._others[workspace]
