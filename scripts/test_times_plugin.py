"""Notes the processor time of each test: what scripts/test_times.py has pytest load."""

import json
import os
import resource
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_SCHEDULED = Path("/proc/thread-self/schedstat")
_steps: dict[str, dict[str, float]] = {}


def _used() -> float:
    waited_for = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + waited_for.ru_utime + waited_for.ru_stime


def _ready() -> float:
    """How long the first thread ran or stood in line for a processor; the rest of the time it waited for something."""
    ran, stood, _ = _SCHEDULED.read_text(encoding="ascii").split()
    return (int(ran) + int(stood)) / 1e9


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    began, at, ready = _used(), time.monotonic(), _ready()
    _steps[item.nodeid] = {}
    answer = yield
    steps = _steps.pop(item.nodeid)
    call, set_up = steps.get("call", 0.0), steps.get("setup", 0.0)
    tear_down, waited = _used() - began - call - set_up, time.monotonic() - at - (_ready() - ready)
    with Path(os.environ["TASKYARD_TEST_TIMES"]).open("a", encoding="utf-8") as noted:
        noted.write(json.dumps([item.nodeid, set_up, call, tear_down, waited]) + "\n")
    return answer


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    began = _used()
    answer = yield
    _steps[item.nodeid]["setup"] = _used() - began
    return answer


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    began = _used()
    try:
        return (yield)
    finally:
        _steps[item.nodeid]["call"] = _used() - began
