"""Variants of task types."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from taskyard.api import calls, openapi
from taskyard.api import request_models as models
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.variants.views import TypeVariants
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("variants")
VARIANTS = openapi.answer("Variants", variants=list[TypeVariants])


@routes.add(calls.SET_VARIANTS, model(TypeVariants))
async def set_variants(
    caller: Calling,
    type: Annotated[str, Path(description="Of tasks.", max_length=255)],
    asked: models.SetVariants,
) -> Response:
    """Say in which variants the tasks of a type are put in from now on. An empty list ends it."""
    return answer(write(await caller.yard.variants.set(type, asked.variants, by=caller.by)))


@routes.add(calls.VARIANTS, VARIANTS)
async def variants(caller: Calling) -> Response:
    """The types that have variants."""
    return answer({"variants": write(await caller.yard.variants.list())})
