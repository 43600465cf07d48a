"""Which variants a task type may have, and what a task becomes as one of them. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, compact, is_list, is_mapping, size_of, sound_object
from taskyard.core.task import Definition
from taskyard.core.variant import Variant, chosen
from taskyard.definition import fields
from taskyard.definition.definition import Sizes

MOST_VARIANTS = 20
LONGEST_NAME = 100
MOST_SHARE = 1_000_000.0
OWN_PROMPT = "{prompt}"  # in a variant's prompt: here stands the task's own


def variants_given(given: object, sizes: Sizes) -> tuple[Variant, ...]:
    """The variants that a caller asks for; none: the type has no variants."""
    if not is_list(given) or len(given) > MOST_VARIANTS:
        raise InvalidInput("variants", f"must be a list of at most {MOST_VARIANTS} variants")
    found = tuple(_variant(each, f"variants[{place}]", sizes) for place, each in enumerate(given))
    names = [each.name for each in found]
    if len(set(names)) < len(names):
        raise InvalidInput("variants", "must have a name of its own each")
    if found and not any(each.share for each in found):
        raise InvalidInput("variants", "must have a share above 0 among them")
    return found


def _variant(given: object, path: str, sizes: Sizes) -> Variant:
    if not is_mapping(given):
        raise InvalidInput(path, "must be an object")
    values = {name: value for name, value in given.items() if name not in ("name", "share")}
    for name in values:
        if name not in _READ:
            raise InvalidInput(f"{path}.{name}", f"must be left out: a variant has {', '.join(_READ)}")
    return Variant(
        fields.name(given.get("name"), f"{path}.name", most=LONGEST_NAME),
        fields.number(given.get("share", 1), f"{path}.share", least=0, most=MOST_SHARE),
        {name: _READ[name](value, f"{path}.{name}", sizes) for name, value in values.items()},
    )


def _models(value: object, path: str, _: Sizes) -> Json:
    return list[Json](fields.models(value, path))


def _prompt(value: object, path: str, sizes: Sizes) -> Json:
    return fields.text(value, path, most=sizes.max_payload_bytes)


def _payload(value: object, path: str, sizes: Sizes) -> Json:
    return sound_object(value, field=path, max_bytes=sizes.max_payload_bytes, max_depth=sizes.max_depth)


_READ = {"model_preferences": _models, "fallback_models": _models, "prompt": _prompt, "payload": _payload}


def as_variant(draft: Definition, variants: Sequence[Variant], sizes: Sizes) -> Definition:
    """A new task of a type that has variants: the one that it names, or the one that its id draws."""
    known = {each.name: each for each in variants}
    if draft.variant is not None and draft.variant not in known:
        raise InvalidInput("variant", f"must be one of {', '.join(known)}")
    variant = chosen(variants, draft.type, draft.id) if draft.variant is None else known[draft.variant]
    return _with_values(draft._replace(variant=variant.name), variant.values, sizes)


def _with_values(draft: Definition, values: Mapping[str, Json], sizes: Sizes) -> Definition:
    for name, value in values.items():
        match name, value:
            case "prompt", str():
                draft = draft._replace(prompt=value.replace(OWN_PROMPT, draft.prompt))
            case "payload", dict():
                draft = draft._replace(payload=_merged(draft.payload, value))
            case (("model_preferences" | "fallback_models"), list()):
                draft = draft._replace(**{name: tuple(map(str, value))})
            case _:
                raise AssertionError(name)
    most = sizes.max_payload_bytes
    if values and size_of(draft.prompt, "prompt") + size_of(draft.payload, "payload") > most:
        raise InvalidInput("prompt", f"must be at most {most} bytes with the payload, as variant {draft.variant}")
    return draft


def _merged(payload: str, values: Mapping[str, Json]) -> str:
    own = json.loads(payload)
    if not is_mapping(own):
        raise InvalidInput("payload", "must be an object: the variants of this type add to it")
    return compact({**own, **values})
