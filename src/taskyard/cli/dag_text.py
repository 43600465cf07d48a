"""Reading DAG files, within bounds: a small file must not become a large one, nor take long to be refused."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import DEEPEST, is_object

MOST_BYTES = 8 << 20
MOST_VALUES = 500_000  # with every alias counted as what it stands for


class BoundedLoader(yaml.SafeLoader):
    """Plain YAML, so deep and with so many values at most; an alias counts as all that it repeats."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0
        self._values = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        before = self._values
        is_alias = self.check_event(yaml.AliasEvent)
        self._depth += 1
        self._values += 1
        node: Any = super().compose_node(parent, index)
        self._depth -= 1
        if is_alias and id(node) not in self._sizes:
            raise InvalidInput("FILE", "must not have a value that contains itself")
        self._values += self._sizes[id(node)] if is_alias else 0
        self._sizes.setdefault(id(node), self._values - before)
        if self._values > MOST_VALUES:
            raise InvalidInput("FILE", f"must have at most {MOST_VALUES} values, aliases written out")
        return node

    def check_event(self, *choices: Any) -> bool:
        if self._depth > DEEPEST:
            raise InvalidInput("FILE", f"must be nested at most {DEEPEST} deep")
        return super().check_event(*choices)


def dag_file(name: str) -> Mapping[str, object]:
    """What a DAG file says: YAML, JSON or TOML. `InvalidInput` says what is wrong with it."""
    try:
        text = _read(name)
        found = tomllib.loads(text) if name.endswith(".toml") else _yaml(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("FILE", f"cannot be read: {error}") from None
    except (tomllib.TOMLDecodeError, yaml.YAMLError) as error:
        raise InvalidInput("FILE", f"is not well formed: {error}") from None
    except RecursionError:
        raise InvalidInput("FILE", f"must be nested at most {DEEPEST} deep") from None
    except ValueError:  # a number of thousands of digits, or a day that is none
        raise InvalidInput("FILE", "has a number or a date that cannot be one") from None
    if not is_object(found):
        raise InvalidInput("FILE", "must be an object with `tasks`")
    return found


def _yaml(text: str) -> Any:
    loader = BoundedLoader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _read(name: str) -> str:
    with sys.stdin if name == "-" else Path(name).open(encoding="utf-8") as file:
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise InvalidInput("FILE", f"must be at most {MOST_BYTES} characters")
    return text
