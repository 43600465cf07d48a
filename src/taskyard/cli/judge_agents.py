"""Agents that judge, as a command line says them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from taskyard.core.errors import InvalidInput
from taskyard.features.attempts.validation.rules import LLM_JUDGE, TEST_RUNNER
from taskyard.worker.handlers import Agent
from taskyard.worker.llm_judge import ChatCompletions, judge_by_model
from taskyard.worker.test_judge import judge_by_tests


def agent_that_tests(
    tests: Sequence[str], work_dir: Path, limit_sec: float, passed: Sequence[str], concurrency: int
) -> Agent:
    agent = Agent(TEST_RUNNER, max_concurrent_tasks=concurrency)
    commands = dict(_named(each) for each in tests)
    return judge_by_tests(commands, work_dir=work_dir, limit_sec=limit_sec, passed=passed, agent=agent)


def agent_that_asks(url: str, model: str | None, key_from: str | None, concurrency: int) -> Agent:
    if model is None:
        raise InvalidInput("--judge-model", "must be given with --judge")
    if key_from is not None and key_from not in os.environ:
        raise InvalidInput("--judge-key", f"{key_from} must be set in the environment")
    endpoint = ChatCompletions(url=url, model=model, key=None if key_from is None else os.environ[key_from])
    return judge_by_model(endpoint, agent=Agent(LLM_JUDGE, max_concurrent_tasks=concurrency))


def _named(test: str) -> tuple[str, list[str]]:
    name, equals, command = test.partition("=")
    if not equals:
        raise InvalidInput("--test-runner", "must be a name and a command, as in unit='pytest -q'")
    return name.strip(), shlex.split(command)
