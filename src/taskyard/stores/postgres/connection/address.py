"""The address of the database, and the settings of its sessions."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from taskyard.core.errors import InvalidInput
from taskyard.stores.shared import timeouts

_MOST_CONNECTIONS = 10
_MANY_CONNECTIONS = 4
# Statements are planned once, often while tables are small, so sequential scans are off. A plan that cannot avoid one
# then looks so expensive that it would be compiled, which takes longer than running it, so jit is off. The server ends
# a session that stops within a transaction: others wait for its rows, and readers of events for its numbers. The server
# would plan a statement of many parts anew for each call, which takes thrice as long as running it: it keeps plans.
_SETTINGS = {
    "enable_seqscan": "off",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    "idle_in_transaction_session_timeout": "30s",
}


class PostgresAddress(NamedTuple):
    """The address of the database, and how sessions with it work."""

    url: str
    direct_url: str  # for LISTEN, which does not work through PgBouncer in transaction mode
    connections: int
    prepared: bool  # whether settings and prepared statements outlive a transaction
    schema: str
    settings: dict[str, str] = _SETTINGS  # settings of a session
    call_timeout: float = timeouts.CALL_TIMEOUT  # seconds

    @property
    def has_claim_connection(self) -> bool:
        """Whether one connection is reserved for claims: not through PgBouncer, and only if there are several."""
        return self.prepared and self.connections > 1

    @property
    def for_claims(self) -> PostgresAddress:
        """The address for that connection, and for a second one if there are many: see `look_ahead`."""
        return self._replace(connections=2 if self.connections >= _MANY_CONNECTIONS else 1)

    @property
    def for_other_calls(self) -> PostgresAddress:
        return self._replace(connections=self.connections - self.for_claims.connections * self.has_claim_connection)

    @property
    def settings_per_transaction(self) -> str:
        """Settings at the beginning of each transaction, where a session cannot keep them."""
        return "" if self.prepared else "".join(f"; set local {name} = '{value}'" for name, value in _SETTINGS.items())

    @property
    def name(self) -> str:
        """The address for messages, without the password."""
        parts = urlsplit(self.url)
        return f"{parts.netloc.rpartition('@')[2] or 'the local socket'}{parts.path}"


def parse_address(url: str, schema: str, call_timeout: float = timeouts.CALL_TIMEOUT) -> PostgresAddress:
    """Parse the URL, and remove Taskyard's own options: schema, pool_size, pgbouncer=true, listen_url."""
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
        options.setdefault("target_session_attrs", "primary")  # of several servers, the one that accepts writes
    plain = urlunsplit(parts._replace(scheme="postgresql", query=urlencode(options)))
    direct = listen or ("" if pooler else plain)
    return PostgresAddress(plain, direct, max(size, 1), not pooler, schema, call_timeout=call_timeout)
