"""DAG files that would become large, deep or slow are refused at once, with a sentence; nothing is stored."""

from pathlib import Path

import pytest

from tests.cli.conftest import Command

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
BAD = {
    "bomb.yaml": (BOMB + "tasks: *i\n", "values"),
    "itself.yaml": ("tasks: &a [*a]\n", "contains itself"),
    "nested.yaml": ("tasks: " + "[" * 200 + "]" * 200, "nested"),
    "deep.yaml": ("tasks: " + "[" * 5000 + "]" * 5000, "nested"),
    "deep.json": ('{"tasks": ' + "[" * 5000 + "]" * 5000 + "}", "nested"),
    "deep.toml": ("tasks = " + "[" * 5000 + "]" * 5000, "nested"),
    "number.yaml": ("tasks: " + "1" * 10_000, "number"),
    "number.toml": ("tasks = " + "1" * 10_000, "number"),
    "date.yaml": ("tasks: 2026-99-99", "date"),
    "large.yaml": ("tasks: " + "x" * (9 << 20), "at most"),
    "tag.yaml": ("tasks: !!python/object/apply:os.system [id]", "well formed"),
    "binary.yaml": ("tasks: \x00", "well formed"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.timeout(30)
def test_a_hostile_file_is_refused_at_once(taskyard: Command, tmp_path: Path, name: str) -> None:
    text, rule = BAD[name]
    (tmp_path / name).write_text(text)

    refused = taskyard("submit", name)

    assert (refused.status, "FILE" in refused.out, rule in refused.out) == (2, True, True), refused.out[:500]
    assert taskyard("dags", "--json").json == []


def test_anchors_may_be_used_as_they_are_meant(taskyard: Command, tmp_path: Path) -> None:
    (tmp_path / "dag.yaml").write_text(
        "tasks:\n  - &one {name: one, type: code, tags: [x]}\n  - {<<: *one, name: two, depends_on: [one]}\n"
    )

    assert len(taskyard("submit", "dag.yaml", "--json").json["tasks"]) == 2
