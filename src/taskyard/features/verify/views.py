"""What is answered about the stored history."""

from __future__ import annotations

from taskyard.definition.view import shown, view


@view
class Verified:
    """What was looked at, and what is wrong with it."""

    tasks: int
    events: int
    attempts: int
    problems: tuple[str, ...]

    @shown
    def ok(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        seen = f"{self.tasks} tasks, {self.attempts} attempts, {self.events} events"
        return (
            f"verify: ok ({seen})" if self.ok else "\n".join([f"verify: {len(self.problems)} problems", *self.problems])
        )
