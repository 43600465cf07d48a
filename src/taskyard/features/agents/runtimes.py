"""Machines and processes that host agents."""

from __future__ import annotations

from taskyard.core.changes import Beat, ChangeSet, RecordChange
from taskyard.core.errors import NotFound
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import RUNTIME
from taskyard.core.runtime import incarnation_of, process_of, runtime_of
from taskyard.core.task import Reason, RuntimeId, Status, Trait
from taskyard.definition import arguments, fields
from taskyard.features.agents.lost_work import LostWork
from taskyard.features.agents.views import Orphans, RuntimeView
from taskyard.ledger.ledger import Ledger, pulse


class Runtimes:
    def __init__(self, ledger: Ledger, lost_work: LostWork) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._lost_work = lost_work

    async def list(self) -> list[RuntimeView]:
        """The processes and machines that have said they host agents."""
        pulses = await self._store.pulses("runtime:")
        views: list[RuntimeView] = []
        for record in await self._store.records("runtime", self._workspace):
            body = RUNTIME.of(record)
            heard = pulses.get(pulse("runtime", self._workspace, record.id))
            started = body["started_at"]
            views.append(
                RuntimeView(
                    runtime_of(record.id) or RuntimeId(""),
                    body["hostname"],
                    body["pid"],
                    body["version"],
                    started,
                    heard,
                    incarnation_of(record.id),
                )
            )
        return views

    async def register(
        self,
        runtime_id: str,
        *,
        incarnation: str | None = None,
        hostname: str = "",
        pid: int | None = None,
        version: str = "",
    ) -> None:
        """A machine that hosts agents says that it has started; with an incarnation, one process of it does."""
        process = arguments.process(arguments.name("runtime_id", runtime_id), incarnation) or ""
        body: dict[str, Json] = {
            "hostname": arguments.words("hostname", hostname),
            "pid": None if pid is None else fields.whole(pid, "pid", least=0, most=2**32),
            "version": arguments.words("version", version),
            "started_at": self._ledger.now(),
        }

        async def decide() -> tuple[ChangeSet, None]:
            record = await self._store.record("runtime", self._workspace, process)
            change = RecordChange("runtime", self._workspace, process, record.version if record else 0, body)
            return ChangeSet(records=(change,), at=self._ledger.now()), None

        await self._ledger.commit(decide)
        await self._store.pulse([pulse("runtime", self._workspace, process)])

    async def heartbeat(self, runtime_id: str, *, incarnation: str | None = None, keep_leases: bool = True) -> None:
        """Keep a runtime alive, or one process of it, and with it the leases of tasks whose preset ties them to it.

        Whoever sends a heartbeat for each of its tasks keeps no leases by this one: what it forgot must run out.
        """
        process = process_of(runtime_id, incarnation)
        if await self._store.record("runtime", self._workspace, process) is None:
            raise NotFound("runtime", process)
        await self._store.pulse([pulse("runtime", self._workspace, process)])
        held = await self._lost_work.held_by(process) if keep_leases else []
        kept = [Beat(hot.id, hot.lease) for hot in held if hot.lease and hot.traits & Trait.RUNTIME_KEPT]
        await self._store.extend(kept)

    async def orphans(self, runtime_id: str, *, incarnation: str | None = None) -> Orphans:
        """A runtime that has restarted gives up what it held before: it fails at once and takes the retry path.

        With an incarnation, only what that process held, and the process is forgotten. Without one, what any process
        of the runtime holds.
        """
        process = process_of(runtime_id, incarnation)
        held = await self._lost_work.held_by(process) if incarnation else await self._lost_work.held_on(process)
        failed = await self._lost_work.fail(held, Reason.RUNTIME_RECOVERY)
        if incarnation:
            await self.forget_process(process)
        return Orphans(len(failed), sum(fate is not Status.DEAD_LETTERED for fate in failed))

    async def forget_process(self, process: RuntimeId) -> None:
        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self._store.record("runtime", self._workspace, process)
            if record is None:
                return None, None
            change = RecordChange("runtime", self._workspace, process, record.version, None)
            return ChangeSet(records=(change,), at=self._ledger.now()), None

        await self._ledger.commit(decide)
