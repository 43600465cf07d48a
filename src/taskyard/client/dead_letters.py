"""Dead letters of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.dead_letters.service import DeadLetters


class RemoteDeadLetters(Remote, DeadLetters):
    list = over_http(DeadLetters.list, calls.DEAD_LETTERS)
    reviews = over_http(DeadLetters.reviews, calls.REVIEWS)
    resolve = over_http(DeadLetters.resolve, calls.RESOLVE, names={"note": "reason"})
