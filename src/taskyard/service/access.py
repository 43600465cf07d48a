"""Tokens: who gives them out, what they prove, and how they end."""

from __future__ import annotations

from dataclasses import replace
from secrets import token_urlsafe

from taskyard.core import access
from taskyard.core.access import EVERYWHERE, Role, Token
from taskyard.core.changes import ChangeSet, Event, RecordChange
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.jsonvalue import compact
from taskyard.core.units import Micros
from taskyard.service import arguments
from taskyard.service.sessions import Sessions
from taskyard.wire.answers import Issued
from taskyard.wire.minting import mint


class Access(Sessions):
    async def create_token(
        self,
        name: str,
        role: str,
        *,
        agent: str | None = None,
        expires_in_sec: float | None = None,
        by: str = "human:local",
    ) -> Issued:
        """A new token for this workspace. One for an agent works as that agent, given by its id or its type."""
        secret = token_urlsafe(32)
        now = self.now()
        lasting = None if expires_in_sec is None else arguments.duration("expires_in_sec", expires_in_sec)
        token = Token(
            id=mint(),
            name=arguments.name("name", name),
            role=_role(role),
            workspace=self.workspace,
            sealed=access.sealed(secret),
            agent=None if agent is None else arguments.name("agent", agent),
            created_at=now,
            created_by=arguments.name("by", by),
            expires_at=None if lasting is None else Micros(now + lasting),
        )
        if (token.role is Role.AGENT) != (token.agent is not None):
            raise InvalidInput("agent", "goes with the role agent, and only with it")
        await self._put_token("token.created", token, 0, by)
        return Issued(token, access.spelled(token.id, secret))

    async def tokens(self) -> list[Token]:
        """The tokens of this workspace, oldest first."""
        records = await self.store.records("token", EVERYWHERE)
        mine = [access.token_of(record) for record in records]
        return sorted((token for token in mine if token.workspace == self.workspace), key=lambda token: token.id)

    async def revoke_token(self, token_id: str, *, by: str = "human:local") -> None:
        """End a token. The next call that shows it is refused."""
        record = await self.store.record("token", EVERYWHERE, arguments.name("token_id", token_id))
        token = None if record is None else access.token_of(record)
        if record is None or token is None or token.workspace != self.workspace:
            raise NotFound("token", token_id)
        if token.revoked_at is None:
            await self._put_token("token.revoked", replace(token, revoked_at=self.now()), record.version, by)

    async def known_by(self, text: str) -> Token | None:
        """The token that this text proves, or that its session stands for; None where it proves none."""
        shown = access.presented(text)
        if shown is None:
            return None
        if shown.is_session:
            session = await self.session_by(text)
            token = None if session is None else await self._token(session.token_id)
            return None if token is None or access.is_over(token, self.now()) else token
        token = await self._token(shown.id)
        return token if token is not None and access.proves(token, shown.secret, self.now()) else None

    async def _token(self, token_id: str) -> Token | None:
        record = await self.store.record("token", EVERYWHERE, token_id)
        return None if record is None else access.token_of(record)

    async def has_tokens(self) -> bool:
        """Whether anybody was ever given a token: from then on, nothing is open."""
        return bool(await self.store.records("token", EVERYWHERE))

    async def _put_token(self, event: str, token: Token, version: int, by: str) -> None:
        data = compact({"token": token.id, "name": token.name, "role": token.role.value, "by": by})
        told = Event(event, token.workspace, None, None, self.now(), None, None, None, data)
        change = RecordChange("token", EVERYWHERE, token.id, version, token.body())

        async def decide() -> tuple[ChangeSet, None]:
            return ChangeSet(records=(change,), events=(told,), at=self.now()), None

        await self._land(decide)


def _role(word: str) -> Role:
    try:
        return Role(word)
    except ValueError:
        raise InvalidInput("role", f"must be one of {', '.join(Role)}") from None
