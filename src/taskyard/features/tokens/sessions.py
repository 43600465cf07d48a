"""Sessions: what browsers show in place of a token, which they are not to keep."""

from __future__ import annotations

from secrets import token_urlsafe

from taskyard.core.changes import ChangeSet, Event, RecordChange
from taskyard.core.units import HOUR, Micros
from taskyard.features.tokens import rules as token_rules
from taskyard.features.tokens.rules import EVERYWHERE, Session, Token
from taskyard.features.tokens.views import Begun
from taskyard.ledger.ids import mint_at
from taskyard.ledger.ledger import Ledger

SESSION = "session"
LASTING = Micros(12 * HOUR)
FORGOTTEN = 100  # old ones that go when a new one comes
_TIME = 10  # the letters of an id that say when it was made


class Sessions:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store

    async def begin(self, token: Token) -> Begun:
        """A session that stands for the token, for as long as sessions last or the token does."""
        secret, now = token_urlsafe(32), self._ledger.now()
        ends = Micros(now + LASTING)
        session = Session(
            id=_id_at(now),
            token_id=token.id,
            sealed=token_rules.sealed(secret),
            expires_at=ends if token.expires_at is None else min(ends, token.expires_at),
        )

        async def decide() -> tuple[ChangeSet, None]:
            # Ids are in the order of time: all below this one are over.
            old = await self._store.page(
                SESSION, EVERYWHERE, below=_id_at(Micros(now - LASTING))[:_TIME], limit=FORGOTTEN
            )
            gone = [RecordChange(*record[:4], None) for record in old]
            begun = RecordChange(SESSION, EVERYWHERE, session.id, 0, session.body())
            return ChangeSet(records=(begun, *gone), events=(self._event("session.begun", token),), at=now), None

        await self._ledger.commit(decide)
        return Begun(session, token_rules.spelled_session(session.id, secret))

    async def of(self, text: str) -> Session | None:
        """The session that this text proves."""
        shown = token_rules.presented(text)
        if shown is None or not shown.is_session:
            return None
        record = await self._store.record(SESSION, EVERYWHERE, shown.id)
        session = None if record is None else token_rules.session_of(record)
        return (
            session if session is not None and token_rules.proves(session, shown.secret, self._ledger.now()) else None
        )

    async def end(self, text: str) -> None:
        """The next call that shows it is refused."""

        async def decide() -> tuple[ChangeSet | None, None]:
            session = await self.of(text)
            if session is None:
                return None, None
            gone = RecordChange(SESSION, EVERYWHERE, session.id, 1, None)
            record = await self._store.record("token", EVERYWHERE, session.token_id)
            ended = [] if record is None else [self._event("session.ended", token_rules.token_of(record))]
            return ChangeSet(records=(gone,), events=tuple(ended), at=self._ledger.now()), None

        await self._ledger.commit(decide)

    def _event(self, event: str, token: Token) -> Event:
        """In the workspace of the token: whoever signs out shows none, and calls from no workspace."""
        audited = self._ledger.audit(event, token.by, {"token": token.id, "role": token.role.value})
        return audited._replace(workspace=token.workspace)


def _id_at(at: Micros) -> str:
    return mint_at(at // 1000)
