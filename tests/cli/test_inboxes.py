"""Inboxes and background subagents from a shell."""

import json
from pathlib import Path

from tests.cli.conftest import Command


def test_a_message_goes_in_and_comes_out_as_a_turn(taskyard: Command) -> None:
    taskyard("inbox", "enqueue", "planner", "hello", "-c", "c1")
    taskyard("inbox", "enqueue", "planner", '[{"type": "text", "text": "there"}]', "-c", "c1", "--parts")
    assert "hello" in taskyard("inbox", "peek", "planner", "-c", "c1").out
    assert taskyard("inbox", "ls", "--json").json[0]["queue_len"] == 2

    blocked = taskyard("inbox", "dequeue", "planner", "-c", "c1", "--blocked", "streaming", "--json").json
    batch = taskyard("inbox", "dequeue", "planner", "-c", "c1", "--json").json["batch"]
    taskyard("inbox", "consume", "planner", batch["batch_id"], "-c", "c1")

    assert blocked == {"batch": None, "blocked": "streaming"}
    assert [part["text"] for part in batch["turn"]] == ["hello", "\n", "there"]
    assert "nothing to take" in taskyard("inbox", "dequeue", "planner", "-c", "c1").out


def test_a_cleared_inbox_says_how_much_was_in_it(taskyard: Command) -> None:
    taskyard("inbox", "enqueue", "planner", "hello")

    assert taskyard("inbox", "clear", "planner", "--json").json == {"cleared": 1}
    assert "nothing waits" in taskyard("inbox", "peek", "planner").out


def test_a_batch_that_nobody_holds_cannot_be_consumed(taskyard: Command) -> None:
    assert taskyard("inbox", "consume", "planner", "batch_1").status == 3


def test_a_subagent_is_started_listed_and_read(taskyard: Command) -> None:
    begun = taskyard(
        *("subagents", "start", "explore", "-p", "Look", "--parent", "lead", "-d", "Look around"),
        *("--tool-call", "call-1", "--fields", '{"priority": 5}', "--json"),
    ).json
    (claimed,) = taskyard("claim", "--agent", "me", "--json").json["tasks"]
    taskyard("complete", claimed["id"], "--lease", claimed["lease"], "--output", '"found it"')

    assert begun.keys() == {"task_id", "output_file", "subagent_id"}
    assert "Look around" in taskyard("subagents", "ls").out
    assert taskyard("subagents", "ls", "--parent", "lead", "--json").json[0]["status"] == "completed"
    assert "task.completed" in taskyard("subagents", "transcript", begun["task_id"]).out
    told = taskyard("inbox", "dequeue", "lead", "--json").json["batch"]["items"][0]["content"]
    assert told["result"] == "found it"
    assert json.loads(Path(begun["output_file"]).read_text().splitlines()[-1])["output"] == "found it"
