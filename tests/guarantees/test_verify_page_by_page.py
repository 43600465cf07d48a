"""`verify` reads tasks and events in pages: where one ends hides nothing, and nothing is reported twice, on any store.

Each damage is done to a workspace of its own, all in one store. What a store says of itself is left out: that is about
all of them.
"""

import pytest

from taskyard.features.verify import log_reading, service
from tests.guarantees.damages import DAMAGES, given_a_sound_workspace
from tests.yards import OpenYard


async def nothing() -> list[str]:
    return []


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PAGE", 2)
    monkeypatch.setattr(log_reading, "PAGE", 2)


async def test_the_end_of_a_page_hides_no_damage(monkeypatch: pytest.MonkeyPatch, open_yard: OpenYard):
    opened = await open_yard()
    monkeypatch.setattr(opened.store, "checks", nothing)
    sound = {damage: await given_a_sound_workspace(opened, damage.__name__) for damage, _ in DAMAGES}
    await opened.sweep()  # it counts what happened, in all workspaces
    missed: dict[str, str] = {}
    for damage, report in DAMAGES:
        await damage(sound[damage])
        verified = await sound[damage].yard.verify()
        expected = [each for each in verified.problems if each.startswith(sound[damage].named(report))]
        if not expected or len(set(verified.problems)) < len(verified.problems):
            missed[damage.__name__] = str(verified)

    assert missed == {}


async def test_a_sound_workspace_is_sound_wherever_a_page_ends(open_yard: OpenYard):
    sound = await given_a_sound_workspace(await open_yard(), "sound")

    assert str(await sound.yard.verify()) == "verify: ok (7 tasks, 3 attempts, 20 events)"
