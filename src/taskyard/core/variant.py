"""Variants of a task type: other models, prompts or payloads for shares of its tasks. A task's id decides which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, TypedDict

from taskyard.core.changes import Record
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import RecordKind
from taskyard.core.units import Micros

KIND = "variants"  # of records; the id is the task type


class VariantBody(TypedDict):
    name: str
    share: float
    values: dict[str, Json]


class VariantsBody(TypedDict):
    variants: list[VariantBody]
    by: str
    at: Micros


VARIANTS = RecordKind(KIND, VariantsBody)


class Variant(NamedTuple):
    name: str
    share: float  # of the sum of all shares
    values: Mapping[str, Json]  # fields of a task that the variant has its own for


def variants_of(record: Record) -> tuple[Variant, ...]:
    return tuple(Variant(each["name"], each["share"], each["values"]) for each in VARIANTS.of(record)["variants"])


def chosen(variants: Sequence[Variant], type_: str, task_id: str) -> Variant:
    """The variant of a task: the same for the same id, however often it is asked."""
    drawn = int.from_bytes(sha256(f"{type_}/{task_id}".encode()).digest()[:8]) / 2**64
    left = drawn * sum(each.share for each in variants)
    for each in variants:
        left -= each.share
        if left < 0:
            return each
    return next(each for each in reversed(variants) if each.share)  # rounding left nothing for the last one
