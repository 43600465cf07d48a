"""Leases: the same claim gets the same tokens, no two attempts share one, and what is stored is not enough to use."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.lease import mint, numbered, seal, seal_stem, token

SECRET = b"known to every process of the yard"
requests = st.text(max_size=20)
attempts = st.integers(1, 10**6)


@given(requests, st.integers(1, 20))
def test_a_claim_that_is_repeated_gets_the_same_tokens(request: str, count: int):
    assert mint(SECRET, request, count) == mint(SECRET, request, count)


@given(requests)
def test_asking_for_more_does_not_change_the_first(request: str):
    assert mint(SECRET, request, 3) == mint(SECRET, request, 10)[:3]


def test_no_two_tokens_are_alike():
    stems = [stem for request in ("a", "b", "") for stem in mint(SECRET, request, 1000)]

    assert len(set(stems)) == 3000


def test_who_does_not_know_the_secret_cannot_make_the_token():
    assert set(mint(SECRET, "request", 10)).isdisjoint(mint(b"a guess", "request", 10))


@given(requests, attempts)
def test_what_a_claim_stores_is_the_seal_of_what_its_agent_is_given(request: str, attempt: int):
    [stem] = mint(SECRET, request, 1)

    assert seal(token(stem, attempt)) == numbered(seal_stem(stem), attempt)


@given(requests, attempts, attempts)
def test_each_attempt_has_its_own_lease(request: str, one: int, other: int):
    [stem] = mint(SECRET, request, 1)

    assert (seal(token(stem, one)) == seal(token(stem, other))) is (one == other)


def test_the_seal_does_not_give_the_token_away():
    [stem] = mint(SECRET, "request", 1)
    sealed = seal(token(stem, 1))

    assert stem not in sealed
    assert seal(sealed) != sealed


@pytest.mark.parametrize("made_up", ["", ".", "lease", "lease_0.1", "\0", "\ud800", "\ud800.1", "1.\ud800", "x" * 1000])
def test_whatever_a_caller_makes_up_is_no_lease_and_breaks_nothing(made_up: str):
    [stem] = mint(SECRET, "request", 1)

    assert seal(made_up) != seal(token(stem, 1))


def test_any_text_may_be_a_request():
    assert mint(SECRET, "\ud800", 1) != mint(SECRET, "\ud801", 1)
