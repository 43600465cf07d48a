"""Webhooks that come in: refused unless they are signed, on time and new.

The answer to a sender says only that it was refused. Why stands in the log, for those who run the yard.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from hashlib import sha256
from secrets import token_hex
from typing import NamedTuple

from taskyard.core.errors import DeliveryRefused, InvalidInput
from taskyard.core.json_value import Json, check_values, decode
from taskyard.core.units import Micros, to_iso
from taskyard.features.tokens.rules import EVERYWHERE
from taskyard.features.triggers.rules import KIND, MOST_DELIVERED_VALUES, SourceName, Trigger, trigger_of
from taskyard.features.triggers.service import HOOK
from taskyard.features.triggers.trigger_firing import DELIVERY, Occurrence, TriggerFiring
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.signing import Scheme, SignedDelivery, Unsound, delivered

logger = logging.getLogger("taskyard.hooks")


class Hook(NamedTuple):
    """Whose a path is."""

    workspace: str
    trigger: str


class IncomingWebhooks:
    def __init__(self, ledger: Ledger, trigger_firing: TriggerFiring) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._trigger_firing = trigger_firing

    async def hook_at(self, path: str) -> Hook | None:
        """The hook that deliveries to this path are for; None: there is none."""
        record = await self._store.record(HOOK, EVERYWHERE, path)
        # Before hooks had paths of their own, deliveries came to their names.
        return None if record is None else Hook(str(record.body["workspace"]), str(record.body.get("trigger", path)))

    async def receive(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        """Take a delivery to a hook of this workspace, or refuse it: `DeliveryRefused`.

        Nothing of a refused one is stored, so that who has no secret cannot fill the store. A path that is nobody's is
        looked up and its delivery's signature computed all the same: how long the answer takes tells nothing.
        """
        hook = await self.hook_at(path)
        name = path if hook is None or hook.workspace != self._workspace else hook.trigger
        record = await self._store.record(KIND, self._workspace, name)
        trigger = None if record is None else trigger_of(record)
        if trigger is None or trigger.path != path or trigger.removed_at is not None:
            trigger = _NOBODYS
        try:
            delivery, values = self._opened_delivery(trigger, headers, body)
            if await self._is_new(trigger, delivery, body):
                await self._trigger_firing.fire_at(trigger, self._arrived(trigger, delivery, values, body))
        except Unsound as unsound:
            logger.warning("a delivery to the hook %s was refused: %s", trigger.id, unsound.why)
            raise DeliveryRefused from None

    def _opened_delivery(
        self, trigger: Trigger, headers: Mapping[str, str], body: bytes
    ) -> tuple[SignedDelivery, dict[str, Json]]:
        """What was signed, and nothing beside it."""
        scheme = Scheme(str(trigger.settings["scheme"]))
        delivery = delivered(scheme, headers, body, self._trigger_firing.hook_secrets(trigger), self._ledger.now())
        try:
            check_values(body, "body", MOST_DELIVERED_VALUES)
            content = decode(body)
        except InvalidInput as garbled:
            raise Unsound(f"its body {garbled.facts['rule']}") from None
        signed_at = None if delivery.signed_at is None else to_iso(delivery.signed_at)
        hook: dict[str, Json] = {"name": trigger.id, "id": delivery.id, "signed_at": signed_at}
        return delivery, {"body": content, "hook": {**hook, "received_at": to_iso(self._ledger.now())}}

    async def _is_new(self, trigger: Trigger, delivery: SignedDelivery, body: bytes) -> bool:
        """Whether it comes for the first time. One that its sender signed anew is answered as arrived, again."""
        before = await self._store.record(DELIVERY, self._workspace, f"{trigger.id}/{delivery.key}")
        if before is None:
            return True
        if delivery.signed_at is None or delivery.signed_at == before.body["signed_at"]:
            raise Unsound("it is a replay of one that came before")
        if before.body["body"] != sha256(body).hexdigest():
            raise Unsound("another delivery came under its id")
        return False

    def _arrived(self, trigger: Trigger, delivery: SignedDelivery, values: dict[str, Json], body: bytes) -> Occurrence:
        facts: dict[str, Json] = {"signed_at": delivery.signed_at, "body": sha256(body).hexdigest()}
        why = "a delivery came" if delivery.id is None else f"delivery {delivery.id} came"
        came = self._trigger_firing.delivery(trigger, delivery.key, facts)
        return Occurrence(values, why, self._ledger.now(), delivery.key[:10], came)


# What a delivery to nobody is held against. No secret belongs to it, so that none is ever good.
_NOBODYS = Trigger(
    id="(nobody's)",
    source=SourceName.WEBHOOK,
    settings={"scheme": Scheme.STANDARD.value},
    only={},
    template={},
    created_at=Micros(0),
    created_by="",
    nonces={token_hex(16): None},
)
