"""What is answered about variants."""

from __future__ import annotations

from typing import Annotated, Any

from taskyard.core.changes import Record
from taskyard.core.variant import VARIANTS, variants_of
from taskyard.definition.view import About, Time, view


@view
class VariantView:
    """One way to do the tasks of a type."""

    name: str
    share: Annotated[float, About("Of the sum of all shares: so much of the new tasks.")]
    values: Annotated[dict[str, Any], About("What its tasks have in place of their own: models, prompt, payload.")]


@view
class TypeVariants:
    """The variants of a task type."""

    type: str
    version: Annotated[int, About("How often they were set; 0: they were removed.")]
    variants: tuple[VariantView, ...]
    set_by: str
    set_at: Time


def variants_view(record: Record) -> TypeVariants:
    body = VARIANTS.of(record)
    return TypeVariants(
        type=record.id,
        version=record.version,
        variants=tuple(VariantView(each.name, each.share, dict(each.values)) for each in variants_of(record)),
        set_by=body["by"],
        set_at=body["at"],
    )
