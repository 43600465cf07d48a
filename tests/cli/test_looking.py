"""What people see."""

import json
import re
import time
from pathlib import Path

import pytest

from taskyard.cli.main import app
from tests.cli.conftest import Command, given_an_empty_yard

PAGE = """
title: Landing page
budget_ceiling_usd: 2
tasks:
  - {name: research, type: research, title: look around}
  - {name: design, type: design}
  - {name: page, type: code, depends_on: [research, design], max_cost_usd: 0.5}
"""
PAGE_TOML = """
title = "Landing page"
[[tasks]]
name = "research"
type = "research"
[[tasks]]
name = "page"
type = "code"
depends_on = ["research"]
"""


def given_a_page(taskyard: Command) -> dict[str, str]:
    Path("page.yaml").write_text(PAGE)
    submitted = taskyard("submit", "page.yaml", "--json").json
    return {**submitted["tasks"], "dag": submitted["dag_id"]}


def test_a_dag_comes_from_yaml_toml_json_or_standard_input(taskyard: Command) -> None:
    Path("page.yaml").write_text(PAGE)
    Path("page.toml").write_text(PAGE_TOML)
    Path("page.json").write_text('{"tasks": [{"type": "code"}]}')

    sizes = [len(taskyard("submit", name, "--json").json["tasks"]) for name in ("page.yaml", "page.toml", "page.json")]

    assert sizes == [3, 2, 1]
    assert len(taskyard("submit", "-", "--json", stdin=PAGE).json["tasks"]) == 3


def test_a_file_that_breaks_a_rule_is_refused_with_the_place(taskyard: Command) -> None:
    Path("bad.yaml").write_text("tasks: [{type: code}, {type: code, depends_on: [nobody]}]")

    said = taskyard("submit", "bad.yaml")

    assert said.status == 2
    assert "tasks[1].depends_on" in said.out
    assert taskyard("ls", "--json").json == []  # a yard was made, and nothing put in


def test_the_schema_of_dag_files_accepts_what_submit_accepts(taskyard: Command) -> None:
    import json  # noqa: PLC0415

    import jsonschema_rs  # noqa: PLC0415
    import yaml  # noqa: PLC0415

    schema = json.loads(taskyard("schema").out)

    assert jsonschema_rs.is_valid(schema, yaml.safe_load(PAGE))
    assert not jsonschema_rs.is_valid(schema, {"tasks": [{"type": "code", "colour": "red"}]})


def test_a_tree_shows_each_task_once_with_its_state(taskyard: Command) -> None:
    ids = given_a_page(taskyard)

    tree = taskyard("tree", ids["dag"]).out

    assert tree.count("look around") == 2  # in its own place, and as the other parent of the page
    assert "Landing page" in tree
    assert "(after look around)" in tree
    assert "○ ready" in tree
    assert "· pending" in tree
    assert taskyard("tree", ids["page"][-8:]).out == tree


def given_a_chain(taskyard: Command, length: int) -> str:
    title = "with a title that is longer than any screen is wide, or at least than most of them are"
    tasks = [
        {"name": str(each), "type": "code", "title": f"{each} {title}", "depends_on": [str(each - 1)] if each else []}
        for each in range(length)
    ]
    return taskyard("submit", "-", "--json", stdin=json.dumps({"tasks": tasks})).json["dag_id"]


def test_a_tree_of_any_depth_fits_a_screen_of_80_columns(taskyard: Command, screen: Command) -> None:
    dag = given_a_chain(taskyard, length=30)

    lines = screen("tree", dag).out.splitlines()

    assert len(lines) == 32  # one for each task, one for the graph, and one for its critical path
    assert max(len(line) for line in lines) <= 80
    assert all(f" {each} with a title" in line for each, line in enumerate(lines[1:-1]))


def test_a_list_has_one_line_for_each_task_at_80_columns(taskyard: Command, screen: Command) -> None:
    given_a_chain(taskyard, length=3)

    lines = screen("ls").out.splitlines()

    assert [len(line.rstrip()) <= 80 for line in lines] == [True] * 5
    assert lines[-1].strip() == "3 tasks"


def test_a_list_says_how_many_there_are_and_who_ended_what(taskyard: Command) -> None:
    for _ in range(3):
        taskyard("enqueue", "code")
    (held,) = taskyard("claim", "--agent", "coder-7", "--json").json["tasks"]
    taskyard("complete", held["id"], "--lease", held["lease"])

    assert taskyard("ls").out.splitlines()[-1] == "3 tasks"
    assert taskyard("ls", "-n", "2").out.splitlines()[-1] == "the newest 2 of 3 tasks"
    assert taskyard("ls", "-s", "ready", "-n", "1").out.splitlines()[-1] == "the newest 1 of 2 tasks"
    assert "coder-7" in taskyard("ls", "-s", "completed").out
    assert [row["agent"] for row in taskyard("ls", "-s", "completed", "--json").json] == ["coder-7"]


def test_why_says_what_a_task_waits_for(taskyard: Command) -> None:
    ids = given_a_page(taskyard)

    assert f"waits for {ids['research']}, which is ready" in taskyard("why", ids["page"]).out
    assert "no agent takes research" in taskyard("why", ids["research"]).out
    assert taskyard("why", ids["page"], "--json").json["causes"][0]["kind"] == "task"


def test_what_a_task_is_is_stated_once(taskyard: Command) -> None:
    task = taskyard("enqueue", "code", "--json").json["id"]
    (held,) = taskyard("claim", "--agent", "me", "--json").json["tasks"]
    taskyard("complete", task, "--lease", held["lease"])

    assert taskyard("why", task).out == f"{task[-10:]} is completed\n"
    assert "is completed" not in taskyard("show", task).out


def test_lists_are_filtered_and_empty_ones_say_what_to_do(taskyard: Command) -> None:
    given_an_empty_yard(taskyard)
    assert "taskyard enqueue" in taskyard("ls").out
    given_a_page(taskyard)

    assert {row["type"] for row in taskyard("ls", "--status", "ready", "--json").json} == {"research", "design"}
    assert [row["type"] for row in taskyard("ls", "--text", "look AROUND", "--json").json] == ["research"]


def test_events_are_reported_one_a_line(taskyard: Command) -> None:
    ids = given_a_page(taskyard)

    lines = taskyard("events", ids["page"]).out.splitlines()

    assert len(lines) == 1
    assert "task.created" in lines[0]


def test_events_tell_times_in_seconds_and_money_in_dollars_and_json_has_them_as_stored(taskyard: Command) -> None:
    task = taskyard("enqueue", "code", "--json").json["id"]
    lease = taskyard("claim", "--agent", "worker").out.split()[-1]
    taskyard("complete", task, "--lease", lease, "--cost", "0.25")

    running, completed = (line for line in taskyard("events", task).out.splitlines()[1:])
    stored = [json.loads(line)["payload"] for line in taskyard("events", task, "--json").out.splitlines()[1:]]

    assert re.search(r" waited=[0-9.]+s ", running)
    assert re.search(r" silent=[0-9.]+s ran=[0-9.]+s cost=\$0.25", completed)
    assert (stored[0]["waited"] > 0, stored[1]["cost"]) == (True, 250_000)


def test_events_are_filtered(taskyard: Command) -> None:
    given_a_page(taskyard)
    taskyard("enqueue", "proof", "--subject", "issue:7", "--agent", "ada")

    filters = (["--subject", "issue:7"], ["--agent", "ada"], ["--type", "proof"])
    told = [json.loads(taskyard("events", *each, "--event", "task.*", "--json").out) for each in filters]

    assert {(each["subject"], each["agent"], each["task_type"]) for each in told} == {("issue:7", "ada", "proof")}
    assert taskyard("events", "--subject", "issue:7", "--event", "dag.*").out == ""


def test_a_watch_without_a_terminal_ends_by_itself_and_shows_the_yard(taskyard: Command) -> None:
    given_a_page(taskyard)

    picture = taskyard("watch", "--for", "0.1").out

    assert "○ ready 2" in picture
    assert "look around" in picture


def test_a_watch_says_where_there_is_nothing_to_watch(taskyard: Command) -> None:
    given_an_empty_yard(taskyard)
    assert "the yard is empty" in taskyard("watch", "--for", "0.1").out
    taskyard("cancel", taskyard("enqueue", "code", "--json").json["id"])

    assert "nothing runs, and nothing waits" in taskyard("watch", "--for", "0.1").out


def test_an_event_is_one_line_at_80_columns(taskyard: Command, screen: Command) -> None:
    taskyard("enqueue", "a-type-that-takes-more-than-its-share-of-the-line", "--subject", "s" * 60)

    assert len(screen("events").out.splitlines()) == len(taskyard("events", "--json").out.splitlines())


def test_the_doctor_names_what_is_wrong_and_what_to_do(taskyard: Command) -> None:
    given_a_page(taskyard)

    said = taskyard("doctor")

    assert said.status == 1
    assert "none is active, and tasks are ready" in said.out
    assert "taskyard work" in said.out


def test_verify_says_ok_of_a_sound_yard(taskyard: Command) -> None:
    given_a_page(taskyard)

    assert taskyard("verify").out.startswith("verify: ok (3 tasks")


@pytest.mark.parametrize(
    "words",
    [
        ["agents", "ls"],
        ["queues", "ls"],
        ["breakers", "ls"],
        ["budget", "show"],
        ["stats"],
        ["dead", "ls"],
        ["sweep"],
        ["ls"],
        ["events"],
    ],
    ids=" ".join,
)
def test_an_empty_yard_is_shown_too(taskyard: Command, words: list[str]) -> None:
    given_an_empty_yard(taskyard)

    assert taskyard(*words).status == 0


def test_queues_agents_breakers_and_budgets_are_steered(taskyard: Command) -> None:
    task = taskyard("enqueue", "code", "--max-cost", "1", "--json").json["id"]
    taskyard("queues", "pause", "default")
    assert "paused" in taskyard("why", task).out
    (queue,) = taskyard("queues", "ls", "--json").json
    assert (queue["queue"], queue["paused"], queue["ready"]) == ("default", True, 1)
    assert "paused" in taskyard("queues", "ls").out
    taskyard("queues", "resume", "default")

    taskyard("breakers", "open", "code")
    assert "breaker of code is open" in taskyard("why", task).out
    assert taskyard("breakers", "ls", "--json").json[0]["state"] == "open"
    taskyard("breakers", "close", "code")

    taskyard("budget", "set", "--daily", "0.5")
    assert taskyard("claim", "--agent", "me").status == 1
    assert "waits for money" in taskyard("why", task).out
    taskyard("budget", "set", "--daily", "5")
    assert taskyard("claim", "--agent", "me").status == 0

    taskyard("agents", "drain", "me")
    assert taskyard("agents", "ls", "--json").json[0]["status"] == "draining"


def test_settings_come_from_the_flag_then_the_environment_then_the_file(
    taskyard: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("taskyard.toml").write_text('workspace = "filed"\n')
    taskyard("enqueue", "one")
    monkeypatch.setenv("TASKYARD_WORKSPACE", "told")
    taskyard("enqueue", "two")
    taskyard("--workspace", "flagged", "enqueue", "three")

    def types(workspace: str) -> list[str]:
        return [row["type"] for row in taskyard("--workspace", workspace, "ls", "--json").json]

    assert (types("filed"), types("told"), types("flagged")) == (["one"], ["two"], ["three"])


def test_every_command_says_what_it_is_for() -> None:
    unsaid = [
        command.name for command in app.registered_commands if not (command.callback and command.callback.__doc__)
    ]

    assert unsaid == []


def test_a_task_that_is_not_there_has_one_exit_status_however_it_is_named(taskyard: Command) -> None:
    given_an_empty_yard(taskyard)

    assert {taskyard("show", name).status for name in ("zzzz", "task_nope", "task_01J00000000000000000000000")} == {3}


def test_the_program_says_its_version(taskyard: Command) -> None:
    assert taskyard("--version").out.startswith("taskyard ")


def test_a_tree_ends_with_what_the_critical_path_took_and_cost(taskyard: Command) -> None:
    dag = given_a_chain(taskyard, 3)

    assert "critical path  3 tasks, 0.00 s, about 3.00 s to go, $0.00" in taskyard("tree", dag).out
    assert len(taskyard("tree", dag, "--json").json["critical_path"]["task_ids"]) == 3


def test_a_task_is_shown_with_its_steps_and_events_where_these_are_asked_for(taskyard: Command) -> None:
    task = taskyard("enqueue", "code", "--json").json["id"]
    none = taskyard("show", task, "--steps", "--events")
    whole = taskyard("show", task, "--steps", "--events", "--json").json

    assert ("no step is stored" in none.out, "task.created" in none.out) == (True, True)
    assert (whole["steps"], whole["checkpoints"], whole["events"][0]["event"]) == ([], {}, "task.created")


def test_what_each_queue_did_lately_is_drawn_as_bars(taskyard: Command) -> None:
    task = taskyard("enqueue", "code", "--queue", "night", "--json").json["id"]
    (claimed,) = taskyard("claim", "--agent", "ada", "--json").json["tasks"]
    taskyard("complete", task, "--lease", claimed["lease"], "--output", "{}")
    until = time.monotonic() + 60
    while "night" not in (shown := taskyard("stats", "--by", "queue").out):
        assert time.monotonic() < until, "nothing was counted"
        taskyard("sweep")  # it counts once in five seconds

    assert "█" in shown
    assert sum(taskyard("stats", "--by", "queue", "--json").json["shares"]["night"]["completed"]) == 1
