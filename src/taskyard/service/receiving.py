"""Webhooks that come in: refused unless they are signed, on time and new.

Who sends one is told no more than that it was refused. Why stands in the hook's fires, for those who run the yard.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from secrets import token_hex

from taskyard.core.access import EVERYWHERE
from taskyard.core.changes import ChangeSet
from taskyard.core.errors import DeliveryRefused, InvalidInput
from taskyard.core.fire import Outcome
from taskyard.core.jsonvalue import decode
from taskyard.core.signing import Delivery, Scheme, Unsound, delivered
from taskyard.core.task import Json
from taskyard.core.trigger import KIND, Source, Trigger, trigger_of
from taskyard.core.units import to_iso
from taskyard.service.triggering import DELIVERY, HOOK, Happened, Triggering, told_of


class Receiving(Triggering):
    async def hook_workspace(self, name: str) -> str | None:
        """Whose a hook is; None: nobody's."""
        record = await self.store.record(HOOK, EVERYWHERE, name)
        return None if record is None else str(record.body["workspace"])

    async def receive(self, name: str, headers: Mapping[str, str], body: bytes) -> None:
        """Take a delivery to a hook of this workspace, or refuse it: `DeliveryRefused`."""
        record = await self.store.record(KIND, self.workspace, name)
        trigger = None if record is None else trigger_of(record)
        if trigger is None or trigger.source is not Source.WEBHOOK or trigger.removed_at is not None:
            raise DeliveryRefused
        try:
            delivery, values = self._opened_delivery(trigger, headers, body)
            if await self._is_news(trigger, delivery, body):
                await self._fire_at(trigger, self._arrived(trigger, delivery, values, body))
        except Unsound as unsound:
            await self._note_refusal(trigger, unsound.why)
            raise DeliveryRefused from None

    def _opened_delivery(
        self, trigger: Trigger, headers: Mapping[str, str], body: bytes
    ) -> tuple[Delivery, dict[str, Json]]:
        """What was signed, and nothing beside it."""
        scheme = Scheme(str(trigger.settings["scheme"]))
        delivery = delivered(scheme, headers, body, self._hook_secrets(trigger), self.now())
        try:
            content = decode(body)
        except InvalidInput as garbled:
            raise Unsound(f"its body {garbled.facts['rule']}") from None
        signed_at = None if delivery.signed_at is None else to_iso(delivery.signed_at)
        hook: dict[str, Json] = {"name": trigger.id, "id": delivery.id, "signed_at": signed_at}
        return delivery, {"body": content, "hook": {**hook, "received_at": to_iso(self.now())}}

    async def _is_news(self, trigger: Trigger, delivery: Delivery, body: bytes) -> bool:
        """Whether it comes for the first time. One that its sender signed anew is told, again, that it has arrived."""
        before = await self.store.record(DELIVERY, self.workspace, f"{trigger.id}/{delivery.key}")
        if before is None:
            return True
        if delivery.signed_at is None or delivery.signed_at == before.body["signed_at"]:
            raise Unsound("it is a replay of one that came before")
        if before.body["body"] != sha256(body).hexdigest():
            raise Unsound("another delivery came under its id")
        return False

    def _arrived(self, trigger: Trigger, delivery: Delivery, values: dict[str, Json], body: bytes) -> Happened:
        facts: dict[str, Json] = {"signed_at": delivery.signed_at, "body": sha256(body).hexdigest()}
        why = "a delivery came" if delivery.id is None else f"delivery {delivery.id} came"
        came = self._delivery(trigger, delivery.key, facts)
        return Happened(values, why, self.now(), delivery.key[:10], came)

    async def _note_refusal(self, trigger: Trigger, why: str) -> None:
        happened = Happened({}, why, self.now(), token_hex(5))
        row = told_of(trigger, happened, Outcome.REFUSED, why).stored(self.workspace)
        await self._committer.commit(ChangeSet(records=(row,), at=self.now()))
