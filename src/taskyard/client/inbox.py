"""Inbox of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.client.transport.call_encoding import minted
from taskyard.features.inbox.service import Inboxes


class RemoteInbox(Remote, Inboxes):
    put = over_http(Inboxes.put, calls.INBOX_ENQUEUE, prepare=minted("item_id", "item"))
    take = over_http(Inboxes.take, calls.INBOX_DEQUEUE, prepare=minted("batch_id", "batch"))
    consume = over_http(Inboxes.consume, calls.INBOX_CONSUME)
    clear = over_http(Inboxes.clear, calls.INBOX_CLEAR)
    peek = over_http(Inboxes.peek, calls.INBOX)
    list = over_http(Inboxes.list, calls.INBOXES)
