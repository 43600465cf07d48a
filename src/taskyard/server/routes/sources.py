"""What schedules and triggers share: how their fires are asked for and shown."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from taskyard.api import openapi
from taskyard.features.sources.fires import Fire

Limit = Annotated[int, Query(ge=1, le=200)]
Below = Annotated[str | None, Query(max_length=255, description="The key of the last one seen.")]
FIRES = openapi.answer("Fires", fires=list[Fire])
