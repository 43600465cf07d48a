"""Templates are data: places are filled with values, and nothing else ever happens."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.errors import InvalidInput
from taskyard.features.sources.templates import MOST_FILLED, check, filled, places, without_places

VALUES: dict[str, Any] = {
    "body": {"name": "api", "count": 3, "ok": True, "none": None, "items": [{"id": "a"}, {"id": "b"}], "with-dash": 1},
    "text": "{{ body.name }}",
}


@pytest.mark.parametrize(
    ("template", "becomes"),
    [
        ("{{ body.name }}", "api"),
        ("{{body.count}}", 3),
        ("{{ body.ok }}", True),
        ("{{ body.none }}", None),
        ("{{ body.items }}", [{"id": "a"}, {"id": "b"}]),
        ("{{ body.items.1.id }}", "b"),
        ("{{ body.with-dash }}", 1),
        ("{{ body.missing? }}", None),
        ("{{ body.name }} has {{ body.count }}", "api has 3"),
        ("ok: {{ body.ok }}", "ok: true"),
        ("items: {{ body.items }}", 'items: [{"id":"a"},{"id":"b"}]'),
        ("none: {{ body.none }}{{ body.missing? }}", "none: "),
        ("no place at all", "no place at all"),
        ({"a": ["{{ body.count }}", 1, None], "{{ body.name }}": "key"}, {"a": [3, 1, None], "{{ body.name }}": "key"}),
    ],
)
def test_places_are_filled(template: Any, becomes: Any):
    assert filled(template, VALUES) == becomes


def test_what_was_filled_in_is_not_looked_at_again():
    assert filled("{{ text }}", VALUES) == "{{ body.name }}"
    assert filled("so: {{ text }}", VALUES) == "so: {{ body.name }}"


@pytest.mark.parametrize(
    "path", ["body.other", "body.items.2", "body.items.x", "body.name.first", "nobody", "body.items.00000000000"]
)
def test_a_path_that_leads_nowhere_is_named(path: str):
    with pytest.raises(InvalidInput, match=path):
        filled({"prompt": f"see {{{{ {path} }}}}"}, VALUES)


@pytest.mark.parametrize(
    "text",
    [
        "{{",
        "{{ }}",
        "{{ 1 + 1 }}",
        "{{ body.__class__.__mro__[0] }}",
        "{{ body['name'] }}",
        "{{ config() }}",
        "{{ body.name | upper }}",
        "{{ body..name }}",
        "{% for x in y %}{{ x",
        "{{ name }} {{ ünïcode }}",
        "{{{{ body }}}}",
    ],
)
def test_what_is_no_path_is_refused_before_it_is_stored(text: str):
    with pytest.raises(InvalidInput):
        check({"prompt": text})


@pytest.mark.parametrize("template", [None, [], "text", {"a": float("nan")}, {"a": "\0"}, {"a": "x" * (1 << 18)}])
def test_what_could_not_be_stored_is_no_template(template: object):
    with pytest.raises(InvalidInput):
        check(template)


def test_a_template_has_so_many_places_and_no_more():
    check({"a": ["{{ x }}"] * 1000})
    with pytest.raises(InvalidInput, match="1000 places"):
        check({"a": ["{{ x }}"] * 1001})


@pytest.mark.parametrize("template", [["{{ big }}"] * 900, "{{ big }}" * 900])
def test_a_short_template_does_not_grow_without_end(template: Any):
    with pytest.raises(InvalidInput, match="grow"):
        filled(template, {"big": "x" * (MOST_FILLED // 800)})


def test_what_stands_in_a_template_whatever_is_filled_in_can_be_checked_beforehand():
    template: dict[str, Any] = {
        "task": {"type": "{{ kind }}", "priority": 5, "prompt": "on {{ a }}", "tags": ["{{ b }}", "c"]}
    }

    assert without_places(template) == {"task": {"type": "any", "priority": 5, "tags": ["c"]}}
    assert sorted(places(template)) == ["a", "b", "kind"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_any_value_comes_through_as_it_is(value: Any):
    assert filled({"here": "{{ value }}"}, {"value": value}) == {"here": value}
