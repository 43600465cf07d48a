"""The OpenAPI document as a judge of answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import jsonschema_rs


class Document:
    """Says of an answer what is not as the document has it."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.content = document
        self._validators: dict[tuple[str, str, int], jsonschema_rs.Validator] = {}

    def faults(self, method: str, path: str, answer: httpx.Response) -> list[str]:
        responses: Mapping[str, Any] = self.content["paths"][path][method.lower()]["responses"]
        if str(answer.status_code) not in responses:
            return [f"the status {answer.status_code} is not in the document"]
        content: Mapping[str, Any] = responses[str(answer.status_code)].get("content", {})
        media_type = answer.headers.get("content-type", "").partition(";")[0]
        if media_type not in content:
            return [f"{answer.status_code} as {media_type or 'nothing'} is not in the document"]
        if "schema" not in content[media_type] or not media_type.endswith("json"):
            return []
        validator = self._validator(method, path, answer.status_code, content[media_type]["schema"])
        return [f"{error.instance_path}: {error.message[:300]}" for error in validator.iter_errors(answer.json())]

    def _validator(self, method: str, path: str, status: int, schema: Mapping[str, Any]) -> jsonschema_rs.Validator:
        key = method, path, status
        if key not in self._validators:
            whole = {**schema, "components": self.content["components"]}
            self._validators[key] = jsonschema_rs.validator_for(whole)
        return self._validators[key]
