"""Where the database is, and how a session with it is set up."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from taskyard.core.errors import InvalidInput
from taskyard.stores.shared import timeouts

_MOST_CONNECTIONS = 10
# A statement is planned once, often while its tables are still small: without sequential scans. Where there is nothing
# but one, that makes it look so dear that it would be compiled, which takes longer than it runs. A session that stops
# in the middle of a transaction is ended: others wait for its rows, and the tail of events for its numbers.
_SETTINGS = {"enable_seqscan": "off", "jit": "off", "idle_in_transaction_session_timeout": "30s"}
_FOR_CLAIMS = _SETTINGS | {"plan_cache_mode": "force_generic_plan"}  # as lock_plan has it


class Address(NamedTuple):
    """Where the database is, and how it may be spoken to."""

    url: str
    direct_url: str  # for LISTEN, which PgBouncer in transaction mode cannot pass on
    connections: int
    prepared: bool  # whether a session is kept between transactions: what was set in it, and statements prepared
    schema: str
    settings: dict[str, str] = _SETTINGS  # of a session
    call_timeout: float = timeouts.CALL_TIMEOUT  # seconds

    @property
    def spares_one(self) -> bool:
        """Whether one of the connections is for claims alone: a session that is kept, and not the only one."""
        return self.prepared and self.connections > 1

    @property
    def for_claims(self) -> Address:
        """That one: on it nothing is planned anew."""
        return self._replace(connections=1, settings=_FOR_CLAIMS)

    @property
    def for_all_else(self) -> Address:
        return self._replace(connections=self.connections - self.spares_one)

    @property
    def settings_each_time(self) -> str:
        """To begin a transaction with, where nothing can be set for a session."""
        return "" if self.prepared else "".join(f"; set local {name} = '{value}'" for name, value in _SETTINGS.items())

    @property
    def name(self) -> str:
        """For messages: without the password."""
        parts = urlsplit(self.url)
        return f"{parts.netloc.rpartition('@')[2] or 'the local socket'}{parts.path}"


def address(url: str, schema: str, call_timeout: float = timeouts.CALL_TIMEOUT) -> Address:
    """Take our own options out of the URL: schema, pool_size, pgbouncer=true, listen_url."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    given = options.pop("pool_size", str(_MOST_CONNECTIONS))
    if not (given.isascii() and given.isdigit() and len(given) < 5):
        raise InvalidInput("url", "must have a number as its pool_size")
    size = int(given)
    pooler = options.pop("pgbouncer", "false").lower() in ("true", "1", "yes")
    listen = options.pop("listen_url", "")
    schema = options.pop("schema", schema)
    if "," in parts.netloc or "," in options.get("host", ""):
        options.setdefault("target_session_attrs", "primary")  # of several servers, the one that takes writes
    plain = urlunsplit(parts._replace(scheme="postgresql", query=urlencode(options)))
    direct = listen or ("" if pooler else plain)
    return Address(plain, direct, max(size, 1), not pooler, schema, call_timeout=call_timeout)
