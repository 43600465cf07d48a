"""One text names a runtime and, where it has several, one process of it."""

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.runtime import incarnation_of, named, process_named, process_of, runtime_of

FIRST = "0123456789abcdef"


@pytest.mark.parametrize("runtime", ["laptop", "a/b", "laptop:7", "/", "line\nbreak", "laptop/0123456789ABCDEF"])
@pytest.mark.parametrize("incarnation", [FIRST, None])
def test_a_name_is_taken_apart_as_it_was_made(runtime: str, incarnation: str | None):
    process = process_of(runtime, incarnation)

    assert (runtime_of(process), incarnation_of(process)) == (runtime, incarnation)
    assert process_named(runtime, incarnation) == process


@pytest.mark.parametrize("incarnation", ["", "7", FIRST.upper(), f"{FIRST}0", f"{FIRST}\n", f"/{FIRST}"])
def test_only_sixteen_digits_are_an_incarnation(incarnation: str):
    with pytest.raises(InvalidInput, match="incarnation"):
        process_of("laptop", incarnation)


@pytest.mark.parametrize("incarnation", [FIRST, None])
def test_a_runtime_is_not_named_like_a_process_of_one(incarnation: str | None):
    with pytest.raises(InvalidInput, match="runtime_id"):
        process_of(f"laptop/{FIRST}", incarnation)


def test_what_has_no_runtime_has_no_incarnation():
    assert runtime_of(None) is incarnation_of(None) is process_named(None, None) is None
    assert named(None) == {}
    assert named("laptop") == {"runtime": "laptop"}
    assert named(f"laptop/{FIRST}") == {"runtime": "laptop", "incarnation": FIRST}
