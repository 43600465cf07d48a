"""What a package index shows of the README leads nowhere that is not there."""

import re
import tomllib

from scripts.long_description import README, long_description

SHOWN = long_description(README.read_text())
PROJECT = tomllib.loads((README.parent / "pyproject.toml").read_text())


def test_it_has_no_relative_link_and_no_picture():
    assert re.findall(r"\]\((?!https?://)[^)]*\)", SHOWN) == []
    assert "![" not in SHOWN
    assert "<img" not in SHOWN


def test_it_says_all_that_the_readme_says_and_where_the_rest_is():
    assert "asyncio.run(main())" in SHOWN
    assert "| At most one completion of a task is accepted; no write of a superseded attempt is. | leases |" in SHOWN
    assert SHOWN.rstrip().endswith("`pip download --no-binary taskyard --no-deps taskyard`.")


def test_the_source_distribution_has_what_it_names_and_what_makes_it():
    packed = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]

    assert {"/docs", "/tests", "/examples", "/scripts/long_description.py", "/hatch_build.py"} <= set(packed)
    assert PROJECT["project"]["dynamic"] == ["readme"]
