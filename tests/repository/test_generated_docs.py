"""The pages that are made from the code say what the code does, and a stale one is noticed."""

from pathlib import Path

import pytest

from scripts.generate_docs import PAGES, main, state_machine
from taskyard.core.policy import PRESETS
from taskyard.core.task import Status
from taskyard.core.transitions import EVENTS, GRAPH
from taskyard.definition.field_meanings import GIVEN, SHOWN
from taskyard.definition.fields import fields
from taskyard.definition.names import KEPT


def row_of(verb: str) -> list[str]:
    """What the page says of a verb in each state."""
    under = state_machine().partition("## What a verb does")[2].splitlines()
    [row] = [line for line in under if line.startswith(f"| `{verb}` |")]
    return [cell.strip() for cell in row.split("|")[2:-1]]


def test_no_page_is_stale():
    assert main(["--check"]) == 0, "run make docs"


def test_a_stale_page_fails_the_check_and_is_not_written_by_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([], root=tmp_path) == 0
    assert main(["--check"], root=tmp_path) == 0
    page = tmp_path / "docs" / "state-machine.md"
    page.write_text("stale")

    assert main(["--check"], root=tmp_path) == 1
    assert "docs/state-machine.md is stale" in capsys.readouterr().err
    assert page.read_text() == "stale"

    assert main([], root=tmp_path) == 0
    assert page.read_text() == PAGES["docs/state-machine.md"]()


def test_a_page_that_is_missing_is_stale(tmp_path: Path):
    assert main(["--check"], root=tmp_path) == 1


def test_the_state_machine_has_every_state_verb_and_event():
    page = state_machine()

    assert all(f"| `{word}` |" in page for word in (*Status, *GRAPH, *EVENTS.values()))


def test_the_table_of_the_state_machine_says_where_each_verb_leads():
    # created, pending, ready, claimed, running, validating, completed, retrying, dead_lettered
    assert row_of("claim") == ["", "", "claimed or running", "", "", "", "", "", ""]
    assert row_of("beat") == ["", "", "", "=", "=", "", "", "", ""]
    assert row_of("retry") == ["", "", "", *["ready or retrying"] * 3, "", "", ""]


def test_the_diagram_draws_each_move_once():
    diagram = state_machine().partition("```mermaid")[2].partition("```")[0]
    moves = {(before, after) for edges in GRAPH.values() for before, to in edges.items() for after in to - {before}}

    drawn = [tuple(line.split(":")[0].split(" --> ")) for line in diagram.strip().splitlines()[1:] if "[*]" not in line]

    assert {(before.strip(), after) for before, after in drawn} == moves
    assert len(drawn) == len(moves)


def test_every_field_of_a_task_has_a_meaning_and_its_page_a_row_for_it():
    page = PAGES["docs/reference/task.md"]()

    assert GIVEN.keys() == fields(PRESETS["standard"]).keys()
    assert SHOWN.keys() == set(KEPT)
    assert all(f"| `{path}` | {meaning} |" in page for path, meaning in [*GIVEN.items(), *SHOWN.items()])
    assert "| must be a whole number from 1 to 1000 | `3` |" in page  # rule and default of max_attempts


def test_the_python_page_has_arguments_attributes_and_defaults_as_they_are_written():
    page = PAGES["docs/reference/python.md"]()

    assert "Agent(type: str, id: str | None = None," in page
    assert "| `max_concurrent_tasks` | `int` | Slots of the process. |" in page
    assert "| `session_id` | `str \\| None` | The conversation to resume" in page
    assert "| `attempt` | `int` | The number of this attempt, from 1. |" in page
    assert "note: str = ''," in page
    assert " at 0x" not in page  # an address, which every run has another of


def test_every_attribute_and_method_on_the_python_page_says_what_it_is():
    lines = PAGES["docs/reference/python.md"]().splitlines()

    assert [line for line in lines if line.endswith("|  |") and not line.endswith("| type |  |")] == []
