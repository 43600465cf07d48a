"""Cutovers: the phase is stored, programs follow it and report what they count, and a person moves it on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.errors import CutoverRefused, InvalidInput, NotFound
from taskyard.core.json_value import Json
from taskyard.definition import arguments, fields
from taskyard.features.cutovers import rules
from taskyard.features.cutovers.rules import CallCounts, Cutover, Discrepancy, Phase, cutover_of
from taskyard.features.cutovers.views import CutoverView, cutover_view
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL

LONGEST_NAME = 100
MOST_DAYS = 365.0
MOST_COUNTED = 1_000_000_000
MOST_CUTOVERS = 200  # that a list shows
Decision = Callable[[Cutover], Cutover]


class Cutovers:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def start(
        self, name: str, *, days: float = rules.DAYS, least: int = rules.LEAST, by: str = LOCAL
    ) -> CutoverView:
        """Begin with writing to both queues. Each phase is to last so many days and to have at least so many calls.

        Under a name that is there nothing begins anew.
        """
        now = self._ledger.now()
        begun = Cutover(
            name=fields.name(name, "name", most=LONGEST_NAME),
            phase=Phase.DUAL_WRITE,
            since=now,
            started_at=now,
            started_by=arguments.name("by", by),
            days=fields.number(days, "days", least=0, most=MOST_DAYS),
            least=fields.whole(least, "least", least=0, most=MOST_COUNTED),
        )

        async def decide() -> tuple[ChangeSet, Cutover]:
            record = await self._store.record(rules.KIND, self._workspace, begun.name)
            if record is not None:
                return ChangeSet(at=now), cutover_of(record)
            change = RecordChange(rules.KIND, self._workspace, begun.name, 0, begun.body())
            audited = self._ledger.audit("cutover.started", by, {"cutover": begun.name})
            return ChangeSet(records=(change,), events=(audited,), at=now), begun

        return self._shown(await self._ledger.commit(decide))

    async def list(self) -> list[CutoverView]:
        """All of them, by name."""
        found = await self._store.page(rules.KIND, self._workspace, limit=MOST_CUTOVERS)
        return sorted((self._shown(cutover_of(each)) for each in found), key=lambda each: each.name)

    async def get(self, name: str) -> CutoverView:
        """The phase, its figures, the latest differences, and what stands in the way of the next phase."""
        record = await self._store.record(rules.KIND, self._workspace, arguments.name("name", name))
        if record is None:
            raise NotFound("cutover", name)
        return self._shown(cutover_of(record))

    async def move(self, name: str, phase: str, *, force: bool = False, by: str = LOCAL) -> CutoverView:
        """Go on to the next phase, or back to one before; to the present one: begin it anew, with figures of 0.

        Refused where something stands in the way, unless it is forced.
        """
        to, now = _phase(phase), self._ledger.now()

        def decide(cutover: Cutover) -> Cutover:
            if not force and (found := rules.obstacles(cutover, to, now)):
                raise CutoverRefused(name, to.value, "; ".join(found))
            return rules.moved(cutover, to, now)

        return await self._changed(name, decide, "cutover.moved", by, {"phase": to.value, "forced": force})

    async def report(
        self,
        name: str,
        phase: str,
        *,
        calls: int = 0,
        compared: int = 0,
        differences: int = 0,
        latest: Sequence[Mapping[str, str]] = (),
    ) -> CutoverView:
        """Add what a program has counted in a phase; the answer says which phase it is now.

        `latest` are differences: the call, and what the old and the new queue answered.
        """
        counts = {"calls": calls, "compared": compared, "differences": differences}
        figures = CallCounts(*(fields.whole(each, of, least=0, most=MOST_COUNTED) for of, each in counts.items()))
        during, found, now = _phase(phase), tuple(map(_discrepancy, latest)), self._ledger.now()
        if not any(figures) and not found:
            return await self.get(name)
        return await self._changed(name, lambda each: rules.counted(each, during, figures, found, now))

    async def remove(self, name: str, *, by: str = LOCAL) -> None:
        """Forget a cutover. Programs that follow it stay in the phase that they know."""

        async def decide() -> tuple[ChangeSet, None]:
            record = await self._store.record(rules.KIND, self._workspace, arguments.name("name", name))
            if record is None:
                raise NotFound("cutover", name)
            gone = RecordChange(rules.KIND, self._workspace, name, record.version, None)
            audited = self._ledger.audit("cutover.removed", by, {"cutover": name})
            return ChangeSet(records=(gone,), events=(audited,), at=self._ledger.now()), None

        await self._ledger.commit(decide)

    async def _changed(
        self,
        name: str,
        change: Decision,
        event: str | None = None,
        by: str = LOCAL,
        facts: dict[str, Json] | None = None,
    ) -> CutoverView:
        async def decide() -> tuple[ChangeSet, Cutover]:
            record = await self._store.record(rules.KIND, self._workspace, arguments.name("name", name))
            if record is None:
                raise NotFound("cutover", name)
            after = change(cutover_of(record))
            changed = RecordChange(rules.KIND, self._workspace, name, record.version, after.body())
            audited = [] if event is None else [self._ledger.audit(event, by, {"cutover": name, **(facts or {})})]
            return ChangeSet(records=(changed,), events=tuple(audited), at=self._ledger.now()), after

        return self._shown(await self._ledger.commit(decide))

    def _shown(self, cutover: Cutover) -> CutoverView:
        return cutover_view(cutover, self._ledger.now())


def _phase(given: str) -> Phase:
    try:
        return Phase(given)
    except ValueError:
        raise InvalidInput("phase", f"must be one of {', '.join(each.value for each in Phase)}") from None


def _discrepancy(given: Mapping[str, str]) -> Discrepancy:
    return Discrepancy(
        *(fields.text(given.get(name), f"latest.{name}", most=10_000, blank=True) for name in Discrepancy._fields)
    )
