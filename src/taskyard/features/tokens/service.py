"""Tokens: who gives them out, what they prove, and how they end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from secrets import token_urlsafe

from taskyard.core.agent import AgentType, Budget, Grant, Slots, agent_type_of
from taskyard.core.changes import ChangeSet, Event, RecordChange
from taskyard.core.errors import IdentityTaken, InvalidInput, NotFound
from taskyard.core.json_value import Json, compact
from taskyard.core.units import Micros
from taskyard.definition import arguments
from taskyard.features.agents.budget_changes import budget_events
from taskyard.features.agents.rules import granted, name_conflict
from taskyard.features.tokens import people
from taskyard.features.tokens import rules as token_rules
from taskyard.features.tokens.people import Identity
from taskyard.features.tokens.rules import EVERYWHERE, Role, Token
from taskyard.features.tokens.sessions import Sessions
from taskyard.features.tokens.views import Issued
from taskyard.ledger.ids import derived, mint
from taskyard.ledger.ledger import Ledger

_NO_TIME = "0" * 26  # what begins the id of a token that is made of who somebody is, and not of when


class Tokens:
    def __init__(self, ledger: Ledger, sessions: Sessions) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._sessions = sessions

    async def create(
        self,
        name: str,
        role: str,
        *,
        agent: str | None = None,
        agent_id: str | None = None,
        types: Iterable[str] | None = None,
        capabilities: Iterable[str] | None = None,
        queues: Iterable[str] | None = None,
        slots: Slots | None = None,
        budget_usd: str | float | int | None = None,
        budget_per: str | None = None,
        expires_in_sec: float | None = None,
        groups: Iterable[str] = (),
        by: str = "human:local",
    ) -> Issued:
        """A new token for this workspace. One for an agent works as that type, or as one id of it.

        What is granted with it belongs to the type, or to that id: it replaces what was granted before, and holds for
        every token and process from its next claim on. Slots are 10 over all ids of the type where none are named;
        `"unlimited"` lifts that bound. The budget is set as an operator sets it. `groups` are those of the person whose
        token it is: questions may be for a group.
        """
        secret = token_urlsafe(32)
        now = self._ledger.now()
        lasting = None if expires_in_sec is None else arguments.duration("expires_in_sec", expires_in_sec)
        token = Token(
            id=mint(),
            name=arguments.name("name", name),
            role=_role(role),
            workspace=self._workspace,
            sealed=token_rules.sealed(secret),
            agent=None if agent is None else arguments.name("agent", agent),
            agent_id=None if agent_id is None else arguments.name("agent_id", agent_id),
            created_at=now,
            created_by=arguments.name("by", by),
            expires_at=None if lasting is None else Micros(now + lasting),
            groups=arguments.names("groups", groups, most=people.MOST_GROUPS),
        )
        if token.role is Role.AGENT and token.groups:
            raise InvalidInput("groups", "are those of people: a token of the role agent has none")
        if (token.role is Role.AGENT) != (token.agent is not None):
            raise InvalidInput("agent", "goes with the role agent, and only with it")
        given = arguments.grant(types=types, capabilities=capabilities, queues=queues, slots=slots)
        budget = None if budget_usd is None else arguments.budget(budget_usd, budget_per)
        if token.agent is None and (token.agent_id is not None or given is not None or budget is not None):
            raise InvalidInput("role", "must be agent where something is granted")
        audited = self._token_event("token.created", token, by)
        row = RecordChange("token", EVERYWHERE, token.id, 0, token.body())

        async def decide() -> tuple[ChangeSet, None]:
            granted = ChangeSet(at=self._ledger.now())
            if token.agent is not None:
                granted = await self._granted(token.agent, token.agent_id, given, budget, by, is_whole=False)
            return granted._replace(records=(row, *granted.records), events=(audited, *granted.events)), None

        await self._ledger.commit(decide)
        return Issued(token, token_rules.spelled(token.id, secret))

    async def grant(
        self,
        agent: str,
        *,
        agent_id: str | None = None,
        types: Iterable[str] | None = None,
        capabilities: Iterable[str] | None = None,
        queues: Iterable[str] | None = None,
        slots: Slots | None = None,
        by: str = "human:local",
    ) -> Grant:
        """What a type of agents, or one id of it, may have from its next claim on; None: as much as it asks for.

        Slots are 10 over all ids of the type where none are named; `"unlimited"` lifts that bound.
        """
        type_, own = arguments.name("agent", agent), None if agent_id is None else arguments.name("agent_id", agent_id)
        given = arguments.grant(types=types, capabilities=capabilities, queues=queues, slots=slots) or Grant()

        async def decide() -> tuple[ChangeSet, None]:
            if type_ not in (await self._ledger.configuration.fresh()).type_names():
                raise NotFound("agent", type_)
            return await self._granted(type_, own, given, None, by, is_whole=True), None

        await self._ledger.commit(decide)
        return given

    async def _granted(
        self, agent: str, agent_id: str | None, given: Grant | None, budget: Budget | None, by: str, *, is_whole: bool
    ) -> ChangeSet:
        """The type with what it is granted. Without a grant that is given, what it was granted before stays."""
        planning = await self._ledger.configuration.fresh()
        ids = planning.types_by_id()
        if (why := name_conflict(agent_id or agent, agent, planning.type_names(), ids)) is not None:
            raise IdentityTaken(agent_id or agent, why)
        record = await self._store.record("agent_type", self._workspace, agent)
        before = AgentType(name=agent) if record is None else agent_type_of(record)
        after = granted(before, agent_id, given)
        if budget is not None and agent_id is not None:
            raise InvalidInput("budget_usd", "is the type's: set that of one id with `taskyard agents budget`")
        after = after if budget is None else replace(after, by_operator=budget)
        version = 0 if record is None else record.version
        rows = [RecordChange("agent_type", self._workspace, agent, version, after.body())]
        if agent not in ids:
            rows.append(RecordChange("agent", self._workspace, agent, 0, None))  # nobody has taken the name meanwhile
        facts: dict[str, Json] = {"agent": agent, "agent_id": agent_id, "grant": (given or Grant()).body()}
        events = [self._ledger.audit("agent.granted", by, facts)] if is_whole or given is not None else []
        return ChangeSet(
            records=tuple(rows),
            events=(*events, *budget_events(self._ledger, before, after, by)),
            at=self._ledger.now(),
        )

    async def list(self) -> list[Token]:
        """The tokens of this workspace, oldest first."""
        records = await self._store.records("token", EVERYWHERE)
        mine = [token_rules.token_of(record) for record in records]
        return sorted((token for token in mine if token.workspace == self._workspace), key=lambda token: token.id)

    async def revoke(self, token_id: str, *, by: str = "human:local") -> None:
        """End a token. The next call that shows it is refused."""
        record = await self._store.record("token", EVERYWHERE, arguments.name("token_id", token_id))
        token = None if record is None else token_rules.token_of(record)
        if record is None or token is None or token.workspace != self._workspace:
            raise NotFound("token", token_id)
        if token.revoked_at is None:
            await self._put_token("token.revoked", replace(token, revoked_at=self._ledger.now()), record.version, by)

    async def sign_in(self, person: Identity, role: Role, *, issuer: str, subject: str, lasting: Micros) -> Token:
        """The token of a person whom a provider has named, as they stand now. No text proves it: sessions stand for it.

        It is one for each person, made anew when they sign in. Whoever revokes it ends their sessions.
        """
        now = self._ledger.now()
        token = Token(
            id=derived(_NO_TIME, people.token_digest(issuer, subject, self._workspace)),
            name=person.name,
            role=role,
            workspace=self._workspace,
            sealed=token_rules.NO_SECRET,
            agent=None,
            created_at=now,
            created_by=f"oidc:{issuer}"[:255],
            expires_at=Micros(now + lasting),
            groups=person.groups,
            subject=f"{issuer} {subject}",
        )

        async def decide() -> tuple[ChangeSet, None]:
            record = await self._store.record("token", EVERYWHERE, token.id)
            row = RecordChange("token", EVERYWHERE, token.id, 0 if record is None else record.version, token.body())
            audited = self._token_event("token.signed_in", token, token.by)
            return ChangeSet(records=(row,), events=(audited,), at=self._ledger.now()), None

        await self._ledger.commit(decide)
        return token

    async def known_by(self, text: str) -> Token | None:
        """The token that this text proves, or that its session stands for; None where it proves none."""
        shown = token_rules.presented(text)
        if shown is None:
            return None
        if shown.is_session:
            session = await self._sessions.of(text)
            token = None if session is None else await self._token(session.token_id)
            return None if token is None or token_rules.is_over(token, self._ledger.now()) else token
        token = await self._token(shown.id)
        return token if token is not None and token_rules.proves(token, shown.secret, self._ledger.now()) else None

    async def _token(self, token_id: str) -> Token | None:
        record = await self._store.record("token", EVERYWHERE, token_id)
        return None if record is None else token_rules.token_of(record)

    async def exist(self) -> bool:
        """Whether anybody was ever given a token: from then on, nothing is open."""
        return bool(await self._store.page("token", EVERYWHERE, limit=1))

    def _token_event(self, event: str, token: Token, by: str) -> Event:
        data = compact({"token": token.id, "name": token.name, "role": token.role.value, "by": by})
        return Event(event, token.workspace, None, None, self._ledger.now(), None, None, None, data)

    async def _put_token(self, event: str, token: Token, version: int, by: str) -> None:
        audited = self._token_event(event, token, by)
        change = RecordChange("token", EVERYWHERE, token.id, version, token.body())

        async def decide() -> tuple[ChangeSet, None]:
            return ChangeSet(records=(change,), events=(audited,), at=self._ledger.now()), None

        await self._ledger.commit(decide)


def _role(word: str) -> Role:
    try:
        return Role(word)
    except ValueError:
        raise InvalidInput("role", f"must be one of {', '.join(Role)}") from None
