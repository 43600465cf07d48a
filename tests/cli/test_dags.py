"""DAGs as a whole: listed page by page, and cancelled."""

from tests.cli.conftest import Command, given_an_empty_yard
from tests.cli.test_looking import given_a_page


def test_dags_are_listed_page_by_page(taskyard: Command) -> None:
    given_an_empty_yard(taskyard)
    assert "taskyard submit" in taskyard("dags").out
    ids = sorted((given_a_page(taskyard)["dag"] for _ in range(3)), reverse=True)

    first = taskyard("dags", "-n", "2", "--json").json
    rest = taskyard("dags", "-n", "2", "--cursor", first[-1]["id"], "--json").json

    assert [each["id"] for each in (*first, *rest)] == ids
    assert first[0] == {"id": ids[0], "title": "Landing page", "status": "pending"}
    assert "Landing page" in taskyard("dags").out


def test_a_whole_dag_is_cancelled_by_its_id(taskyard: Command) -> None:
    page = given_a_page(taskyard)

    cancelled = taskyard("cancel", page["dag"], "--reason", "no longer wanted", "--json").json["cancelled"]

    assert set(cancelled) == {page["research"], page["design"], page["page"]}
    assert taskyard("dags", "--json").json[0]["status"] == "cancelled"
