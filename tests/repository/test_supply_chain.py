"""The bill of materials names everything that is locked, and an audit finds what an advisory is about."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.supply_chain import ROOT, bill, locked

PACKAGES = locked(ROOT / "uv.lock")
APSW = next(each for each in PACKAGES if each.name == "apsw")


def ran(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scripts.supply_chain", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def advisory(**affected: Any) -> dict[str, Any]:
    named = {"package": {"ecosystem": "PyPI", "name": "APSW"}, **affected}
    return {"id": "OSV-1", "summary": "bad", "affected": [named]}


def test_the_bill_names_every_locked_package_with_its_hashes():
    made = json.loads(ran("sbom").stdout)

    assert made == bill(PACKAGES)
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert {"apsw", "typer", "fastapi"} <= {each["name"] for each in made["components"]}
    assert all(each["hashes"] for each in made["components"])


@pytest.mark.parametrize(
    ("affected", "status"),
    [
        ({"versions": [APSW.version]}, 1),
        ({"versions": ["0.1"]}, 0),
        ({"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}]}, 1),
        ({"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.0"}]}]}, 0),
        ({"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "9999"}]}]}, 0),
        ({"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"last_affected": "1.0"}]}]}, 0),
    ],
)
def test_an_audit_fails_where_an_advisory_is_about_what_is_locked(
    tmp_path: Path, affected: dict[str, Any], status: int
):
    file = tmp_path / "advisories.json"
    file.write_text(json.dumps([advisory(**affected)]))

    done = ran("audit", "--advisories", str(file))

    assert done.returncode == status, done.stderr
    assert (f"apsw {APSW.version}: OSV-1 bad" in done.stdout) == bool(status)


def test_without_advisories_an_audit_says_that_nothing_was_checked(tmp_path: Path):
    done = ran("audit", "--advisories", str(tmp_path / "missing.json"))

    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing was checked" in done.stderr


def test_a_reader_who_goes_before_the_end_is_no_error():
    command = f"set -o pipefail; {shlex.quote(sys.executable)} -m scripts.supply_chain sbom | head -n 1"
    run = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)

    assert (run.returncode, run.stdout, run.stderr) == (0, "{\n", "")
