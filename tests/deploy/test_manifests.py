"""What is deployed with: checked by the tools of each format, and against the commands and figures that it names."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from typer.core import TyperGroup
from typer.main import get_command

import taskyard
from taskyard.app import served
from taskyard.cli.main import app
from tests import programs

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = DEPLOY / "kubernetes" / "taskyard.yaml"
RULES = DEPLOY / "prometheus" / "taskyard.rules.yaml"
RULE_TESTS = DEPLOY / "prometheus" / "taskyard.rules.test.yaml"
GRAFANA = DEPLOY / "grafana" / "taskyard.json"
BIN = Path(sys.executable).parent


def run(*command: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=60, check=False, **more
    )


def test_the_recipe_of_the_image_has_nothing_that_hadolint_refuses(tmp_path: Path):
    recipe = DEPLOY / "container" / "Containerfile"

    assert run(BIN / "hadolint", recipe).stdout == ""

    careless = tmp_path / "Containerfile"
    careless.write_text(recipe.read_text().replace("--no-cache-dir", ""))
    assert "DL3042" in run(BIN / "hadolint", careless).stdout


def test_kubernetes_takes_the_manifests_and_no_misspelled_field(tmp_path: Path):
    checked = run(BIN / "kubernetes-validate", "--strict", MANIFESTS)
    assert checked.returncode == 0, checked.stdout + checked.stderr

    misspelled = tmp_path / "taskyard.yaml"
    misspelled.write_text(MANIFESTS.read_text().replace("readinessProbe", "readynessProbe"))
    assert run(BIN / "kubernetes-validate", "--strict", misspelled).returncode != 0


@pytest.mark.parametrize("unit", sorted(path.name for path in (DEPLOY / "systemd").glob("*.service")))
def test_systemd_takes_the_unit(unit: str, tmp_path: Path):
    """The program is this environment's: systemd refuses a unit whose program is not there."""
    copy = tmp_path / unit.replace("@", "@coder")
    copy.write_text(
        (DEPLOY / "systemd" / unit).read_text().replace("/opt/taskyard/bin/taskyard", str(BIN / "taskyard"))
    )
    environment = programs.environment("systemd-analyze")

    checked = run("systemd-analyze", "verify", "--man=no", copy, env=environment)
    assert (checked.returncode, _about(checked.stderr, copy.name)) == (0, []), checked.stderr

    copy.write_text(copy.read_text().replace("KillSignal=SIGTERM", "KillSignal=SIGNONE"))
    assert _about(run("systemd-analyze", "verify", "--man=no", copy, env=environment).stderr, copy.name)


def _about(complaints: str, unit: str) -> list[str]:
    """What was said of this unit: a machine's own units may have faults too."""
    return [line for line in complaints.splitlines() if unit in line]


def _commands() -> Iterator[tuple[str, list[str]]]:
    for path in sorted((DEPLOY / "compose").glob("*.yaml")):
        for name, service in yaml.safe_load(path.read_text())["services"].items():
            if str(service.get("image", "")).startswith("taskyard"):
                yield f"{path.name}:{name}", service["command"]
    for document in yaml.safe_load_all(MANIFESTS.read_text()):
        if document["kind"] == "Deployment":
            [container] = document["spec"]["template"]["spec"]["containers"]
            yield document["metadata"]["name"], container["args"]
    for path in sorted((DEPLOY / "systemd").glob("*.service")):
        [line] = re.findall(r"^ExecStart=\S+ (.*)$", path.read_text(), re.MULTILINE)
        yield path.name, shlex.split(line)
    [recipe] = re.findall(r"^CMD (\[\"serve.*\])$", (DEPLOY / "container" / "Containerfile").read_text(), re.MULTILINE)
    yield "Containerfile", yaml.safe_load(recipe)
    for worker in yaml.safe_load((DEPLOY / "helm" / "taskyard" / "values.yaml").read_text())["workers"]:
        yield f"helm:{worker['name']}", [*worker["args"], "--grace=30", "--log-format=json"]
    server = (DEPLOY / "helm" / "taskyard" / "templates" / "server.yaml").read_text()
    yield "helm:server", ["serve", *re.findall(r"^ +- (--[a-z-]+=[a-z0-9.]+)$", server, re.MULTILINE)]


@pytest.mark.parametrize(("where", "arguments"), [pytest.param(*each, id=each[0]) for each in _commands()])
def test_the_command_line_knows_every_command_that_is_deployed(where: str, arguments: list[str]):
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    command = group.commands[arguments[0]]

    with command.make_context(where, list(arguments[1:])) as context:
        assert not context.args


async def test_every_figure_of_alerts_and_dashboard_is_served():
    async with taskyard.connect("memory://") as yard, served(yard) as address, httpx.AsyncClient() as client:
        figures = set(re.findall(r"^# TYPE (\S+)", (await client.get(f"{address}/metrics")).text, re.MULTILINE))
    families = {*figures, *(figure + end for figure in figures for end in ("_bucket", "_sum", "_count", "_total"))}

    for path in (RULES, GRAFANA):
        named = set(re.findall(r"\btaskyard_[a-z_]+", path.read_text()))
        assert named - families == set(), path.name


def test_no_figure_of_the_store_is_counted_once_for_each_server():
    """Every server tells what the store holds; only the figures of HTTP are a server's own."""
    dashboard = yaml.safe_load(GRAFANA.read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    asked += [rule["expr"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]

    sums = [sum_ for expression in asked for sum_ in re.findall(r"sum(?: by \([^)]*\))? ?\((.*?)[{\[)]", expression)]
    assert sums
    assert [
        each for each in sums if "taskyard_http_" not in each and not each.startswith("max without (instance")
    ] == []


def test_prometheus_takes_the_configuration(tmp_path: Path):
    environment = programs.environment("promtool")
    shutil.copytree(RULES.parent, tmp_path, dirs_exist_ok=True)
    (tmp_path / "token").touch()
    copy = tmp_path / "prometheus.yaml"
    copy.write_text(copy.read_text().replace("/etc/prometheus/taskyard.token", str(tmp_path / "token")))

    checked = run("promtool", "check", "config", copy, env=environment)
    assert checked.returncode == 0, checked.stdout + checked.stderr

    copy.write_text(copy.read_text().replace("type: A,", "kind: A,"))
    assert run("promtool", "check", "config", copy, env=environment).returncode != 0


def _recipe_extras(recipe: str) -> list[str]:
    return re.findall(r"--extra (\S+)", (DEPLOY / "container" / recipe).read_text())


def test_both_recipes_put_the_same_extras_into_the_image():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    of_agents = {"openai", "openai-agents", "pydantic-ai", "langgraph", "claude", "memory-model"}

    assert _recipe_extras("Containerfile") == _recipe_extras("build_from_debian.sh")
    assert set(_recipe_extras("Containerfile")) == declared.keys() - of_agents


def _alerts() -> list[str]:
    return [rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def test_every_alert_has_a_runbook_and_figures_on_which_it_fires_and_is_silent():
    headings = re.findall(r"^## (\S+)$", (ROOT / "docs" / "guides" / "runbooks.md").read_text(), re.MULTILINE)
    assert headings == _alerts()

    tried = [
        (each["alertname"], bool(each["exp_alerts"]))
        for test in yaml.safe_load(RULE_TESTS.read_text())["tests"]
        for each in test["alert_rule_test"]
    ]
    assert sorted(tried) == sorted([(alert, fires) for alert in _alerts() for fires in (True, False)])


def test_the_alerts_fire_when_they_should(tmp_path: Path):
    environment = programs.environment("promtool")
    checked = run("promtool", "test", "rules", RULE_TESTS, env=environment)
    assert checked.returncode == 0, checked.stdout + checked.stderr

    shutil.copytree(RULES.parent, tmp_path, dirs_exist_ok=True)
    lax = (tmp_path / RULES.name).read_text().replace("> 60\n", "> 600\n")
    (tmp_path / RULES.name).write_text(lax)
    assert run("promtool", "test", "rules", tmp_path / RULE_TESTS.name, env=environment).returncode != 0
