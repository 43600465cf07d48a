"""What is remembered, the text that stands for it, and whether `hash:` finds it again."""

import json
from math import sqrt

import pytest

from bench.recall import ASKED, PAIRS, STORED, cosine, share_found
from taskyard.core.changes import Record
from taskyard.features.memory import rules
from taskyard.features.memory.hashing import DIMENSIONS, HashEmbedder, embed_text, words_of
from taskyard.features.memory.rules import MemoryPolicy
from tests.core.defining import defined
from tests.core.hostile import task


async def test_hash_finds_at_least_six_of_ten_tasks_that_share_no_word_with_what_is_asked():
    assert len(PAIRS) == 200
    assert await share_found(HashEmbedder()) >= 0.6


def test_none_of_these_tasks_is_found_by_shared_words():
    stored, asked = [words_of(text) for text in STORED], [words_of(text) for text in ASKED]

    assert all(mine.isdisjoint(theirs) for mine, theirs in zip(stored, asked, strict=True))


def test_vectors_have_length_one_and_are_the_same_everywhere():
    vector = embed_text("Migrate the invoice table")

    assert len(vector) == DIMENSIONS
    assert sqrt(cosine(vector, vector)) == pytest.approx(1)
    # Stored vectors are compared with those of later releases: another hash needs another name.
    assert [place for place, value in enumerate(embed_text("invoice")) if value][:4] == FIRST_PLACES


FIRST_PLACES = [46, 51, 74, 79]


async def test_a_text_without_words_has_a_vector_too():
    assert await HashEmbedder().embed(["", "the", "¡!"]) == [[0.0] * DIMENSIONS] * 3


def test_the_text_of_a_task_is_what_people_wrote_and_no_names_of_fields():
    definition = defined(
        task(
            type="fix", title="Broken login", prompt="Look", tags=["web"], payload={"who": ["Ada", {"n": 1}], "x": "B"}
        )
    )

    assert rules.text_of(definition).split("\n") == ["Broken login", "fix", "web", "Look", "Ada", "B"]


def test_the_text_of_a_task_is_at_most_four_kibibytes_and_ends_with_a_whole_character():
    text = rules.text_of(defined(task(title="T", prompt="é" * 5000)))

    assert 4090 < len(text.encode()) <= rules.LONGEST_TEXT
    assert set(text.split("\n")[-1]) == {"é"}


@pytest.mark.parametrize(
    ("preset", "own", "policy", "expected"),
    [
        ("standard", None, MemoryPolicy(), False),
        ("automechanica", None, MemoryPolicy(), True),
        ("automechanica", None, MemoryPolicy(remember=False), False),
        ("standard", None, MemoryPolicy(remember=True), True),
        ("standard", None, MemoryPolicy(remember=True, types={"code": False}), False),
        ("standard", None, MemoryPolicy(types={"code": True}), True),
        ("standard", None, MemoryPolicy(types={"other": True}), False),
        ("standard", True, MemoryPolicy(remember=False, types={"code": False}), True),
        ("automechanica", False, MemoryPolicy(remember=True, types={"code": True}), False),
    ],
)
def test_the_task_decides_before_its_type_the_type_before_the_workspace_and_that_before_the_preset(
    preset: str, own: bool | None, policy: MemoryPolicy, expected: bool
):
    definition = defined(task(type="code", remember=own), preset)

    assert rules.is_remembered(definition, policy) is expected
    assert rules.policy_in(json.loads(json.dumps(policy.body()))) == policy


def test_a_cursor_is_read_as_it_was_written():
    refused = rules.RefusedText(workspace="default", task_id="task_1", problem="too long")
    cursor = rules.EmbeddingCursor(4, seq=9, below=7, top=8, dimensions=3, holder="me", problem="x", refused=[refused])
    record = Record(rules.CURSOR, "", "hash:256", 4, json.loads(json.dumps(cursor.body())))

    assert cursor.body().keys() == rules.CURSOR_RECORD.shape.__annotations__.keys()
    assert rules.cursor_of(record) == cursor
    assert rules.cursor_of(None) == rules.EmbeddingCursor()
    assert [cursor.has_passed(seq) for seq in (6, 7, 8, 9, 10)] == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("output", "summary"),
    [
        ('"done"', "done"),
        ('{"summary": "short", "more": 1}', "short"),
        ('{"summary": 1}', '{"summary":1}'),
        ("null", "null"),
    ],
)
def test_an_output_is_summed_up_by_itself_or_by_its_beginning(output: str, summary: str):
    assert rules.summary_of(output) == summary
    assert len(rules.summary_of(json.dumps("x" * 9000))) == rules.LONGEST_SUMMARY
