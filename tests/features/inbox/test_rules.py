"""The rules of an inbox: scopes and barriers, limits, and what comes back."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.json_value import Json
from taskyard.core.units import Micros
from taskyard.features.inbox import rules as inbox_rules
from taskyard.features.inbox.rules import HARD_LIMIT, REMEMBERED, SOFT_LIMIT, Blocked, Box, Entry, Kind, Scope

NOW = Micros(1_000_000)
LATER = Micros(2_000_000)
MESSAGE, APPROVAL = Kind.MESSAGE, Kind.APPROVAL_RESULT
BARRIERS = [Kind.APPROVAL_RESULT, Kind.OVERLAY_ACTION]


def entry(name: object, kind: Kind = MESSAGE, scope: str = "A") -> Entry:
    return Entry(str(name), kind, Scope("agent", scope))


def filled(*entries: Entry) -> Box:
    box = Box()
    for each in entries:
        box = inbox_rules.put(box, each).box
    return box


def names(entries: tuple[Entry, ...]) -> str:
    return " ".join(each.id for each in entries)


def batches(box: Box) -> list[str]:
    """Everything that waits, as it goes out."""
    found: list[str] = []
    while (took := inbox_rules.take(box, f"batch {len(found)}", LATER)).entries:
        found.append(names(took.entries))
        box = took.box
    return found


def test_scopes_a_b_a_give_three_batches():
    box = filled(entry(1), entry(2), entry(3, scope="B"), entry(4), entry(5))

    assert batches(box) == ["1 2", "3", "4 5"]


@pytest.mark.parametrize("barrier", BARRIERS)
def test_a_barrier_goes_alone_and_parts_what_is_around_it(barrier: Kind):
    box = filled(entry(1), entry(2, barrier), entry(3, barrier), entry(4), entry(5, Kind.TASK_NOTIFICATION))

    assert batches(box) == ["1", "2", "3", "4 5"]


def test_at_the_soft_limit_the_oldest_that_coalesces_is_dropped_wherever_it_stands():
    barriers = [entry(f"barrier {number}", APPROVAL) for number in range(SOFT_LIMIT - 2)]
    box = filled(*barriers, entry("oldest"), entry("next"))

    put = inbox_rules.put(box, entry("new"))

    assert (put.accepted, put.dropped) == (True, entry("oldest"))
    assert names(put.box.waiting[-2:]) == "next new"
    assert len(put.box.waiting) == SOFT_LIMIT


@pytest.mark.parametrize("barrier", BARRIERS)
def test_a_barrier_that_meets_the_soft_limit_drops_no_message(barrier: Kind):
    box = filled(*(entry(number) for number in range(SOFT_LIMIT)))

    put = inbox_rules.put(box, entry("barrier", barrier))

    assert (put.accepted, put.dropped, len(put.box.waiting)) == (True, None, SOFT_LIMIT + 1)


def test_where_nothing_coalesces_the_soft_limit_gives_way_and_the_hard_one_does_not():
    box = filled(*(entry(number, APPROVAL) for number in range(HARD_LIMIT)))
    assert len(box.waiting) == HARD_LIMIT

    put = inbox_rules.put(box, entry("one too many", APPROVAL))

    assert put == inbox_rules.Put(box, accepted=False)


def test_what_is_in_somebodys_hands_counts_for_the_hard_limit():
    box = Box()
    for number in range(HARD_LIMIT):
        box = inbox_rules.take(inbox_rules.put(box, entry(number)).box, f"batch {number}", LATER).box

    assert not inbox_rules.put(box, entry("one too many")).accepted
    assert inbox_rules.put(inbox_rules.consume(box, "batch 0"), entry("one more")).accepted


def test_what_is_not_consumed_in_time_is_first_again_in_its_old_order():
    box = filled(entry(1), entry(2, APPROVAL), entry(3, APPROVAL), entry(4))
    first = inbox_rules.take(box, "first", NOW)
    second = inbox_rules.take(first.box, "second", NOW)
    third = inbox_rules.take(second.box, "third", LATER)

    back = inbox_rules.come_back(third.box, NOW)

    assert (names(back.waiting), [batch.id for batch in back.taken]) == ("1 2 4", ["third"])
    assert inbox_rules.come_back(back, NOW) is back


def test_what_was_consumed_or_cleared_never_comes_back_and_is_remembered():
    box = inbox_rules.take(filled(entry(1), entry(2, APPROVAL)), "first", NOW).box

    consumed = inbox_rules.consume(box, "first")
    cleared = inbox_rules.clear(box)

    assert names(inbox_rules.come_back(consumed, LATER).waiting) == "2"
    assert inbox_rules.kept(inbox_rules.come_back(cleared, LATER)) == ()
    assert all(inbox_rules.knows(consumed, each) for each in ("1", "2", "first"))
    assert all(inbox_rules.knows(cleared, each) for each in ("1", "2", "first"))


def test_a_reason_is_reported_once_and_only_where_something_waits():
    box = filled(entry(1))

    blocked = inbox_rules.block(box, Blocked.STREAMING)

    assert inbox_rules.block(Box(), Blocked.STREAMING) == Box()
    assert blocked.blocked is Blocked.STREAMING
    assert inbox_rules.block(blocked, Blocked.STREAMING) == blocked
    assert inbox_rules.block(blocked, Blocked.OVERLAY_OPEN).blocked is Blocked.OVERLAY_OPEN
    assert inbox_rules.take(blocked, "first", LATER).box.blocked is None


@pytest.mark.parametrize(
    ("contents", "turn"),
    [
        (["one", "two"], "one\ntwo"),
        (["one"], "one"),
        (
            ["one", [{"type": "image", "source": "…"}], {"status": "completed"}],
            [
                {"type": "text", "text": "one"},
                {"type": "text", "text": "\n"},
                {"type": "image", "source": "…"},
                {"type": "text", "text": "\n"},
                {"type": "text", "text": '{"status":"completed"}'},
            ],
        ),
    ],
)
def test_a_batch_is_one_turn(contents: list[Json], turn: Json):
    assert inbox_rules.merged_turn(contents) == turn


# Against a model: the same calls on a list that is as plain as can be


class Plain:
    """An inbox as one would write it down at first: a list, and batches by their names."""

    def __init__(self) -> None:
        self.waiting: list[Entry] = []
        self.taken: dict[str, tuple[Micros, list[Entry]]] = {}

    def put(self, new: Entry) -> bool:
        if len(self.waiting) + sum(len(entries) for _, entries in self.taken.values()) == HARD_LIMIT:
            return False
        if len(self.waiting) >= SOFT_LIMIT and new.kind not in BARRIERS:
            for index, each in enumerate(self.waiting):
                if each.kind not in BARRIERS:
                    del self.waiting[index]
                    break
        self.waiting.append(new)
        return True

    def take(self, batch: str, until: Micros) -> list[Entry]:
        out: list[Entry] = []
        while self.waiting and (not out or self._goes_with(out[0], self.waiting[0])):
            out.append(self.waiting.pop(0))
        if out:
            self.taken[batch] = (until, out)
        return out

    def come_back(self, now: Micros) -> None:
        late = [batch for batch, (until, _) in self.taken.items() if until <= now]
        self.waiting = [each for batch in late for each in self.taken.pop(batch)[1]] + self.waiting

    @staticmethod
    def _goes_with(first: Entry, other: Entry) -> bool:
        return first.kind not in BARRIERS and other.kind not in BARRIERS and first.scope == other.scope


puts = st.tuples(st.just("put"), st.sampled_from(list(Kind)), st.sampled_from("AB"), st.sampled_from([1, 1, 1, 60]))
acts = puts | st.tuples(st.sampled_from(["take", "take", "consume", "wait", "clear"]))


@given(st.lists(acts, max_size=60))
def test_an_inbox_does_what_a_plain_list_would(acts: list[tuple[object, ...]]):
    box, plain, now = Box(), Plain(), NOW
    for number, (act, *how) in enumerate(acts):
        match act:
            case "put":
                kind, scope, times = how
                for time in range(int(str(times))):
                    new = entry(f"{number}.{time}", Kind(str(kind)), str(scope))
                    made = inbox_rules.put(box, new)
                    box = made.box
                    assert made.accepted == plain.put(new)
            case "take":
                until = Micros(now + 3)
                took = inbox_rules.take(box, str(number), until)
                box = took.box
                assert list(took.entries) == plain.take(str(number), until)
            case "consume" if box.taken:
                plain.taken.pop(box.taken[0].id)
                box = inbox_rules.consume(box, box.taken[0].id)
            case "clear":
                box, plain = inbox_rules.clear(box), Plain()
            case _:
                now = Micros(now + 1)
                box = inbox_rules.come_back(box, now)
                plain.come_back(now)
        assert list(box.waiting) == plain.waiting
        assert {batch.id: list(batch.entries) for batch in box.taken} == {
            batch: entries for batch, (_, entries) in plain.taken.items()
        }
        assert inbox_rules.box_of(inbox_rules.body(box, Scope("a", "c"), now)) == box
        assert len(box.gone) <= REMEMBERED


@given(st.lists(st.tuples(st.sampled_from(list(Kind)), st.sampled_from("ABC")), max_size=80))
def test_batches_keep_the_order_and_end_only_where_they_must(given: list[tuple[Kind, str]]):
    entries = [entry(number, kind, scope) for number, (kind, scope) in enumerate(given)]
    by_id = {each.id: each for each in entries}

    out = [[by_id[name] for name in batch.split()] for batch in batches(filled(*entries))]

    assert [each for batch in out for each in batch] == entries
    assert all(len({each.scope for each in batch}) == 1 for batch in out)
    assert all(len(batch) == 1 for batch in out if not batch[0].kind.coalesces)
    for before, after in pairwise(out):
        assert not (before[0].kind.coalesces and after[0].kind.coalesces and before[0].scope == after[0].scope)
