"""How far a DAG may grow, and what an agent may put into it.

What an agent spawns is placed no better than the task that it holds, costs no more and asks for no less, and refers to
nothing outside of the DAG. An orchestrator's tasks may; the bounds on size, depth and children hold for everybody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from taskyard.core.changes import Edge
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import DAG
from taskyard.core.task import DagId, Definition, Hot, Status, TaskId, Trait
from taskyard.core.units import MicroUsd
from taskyard.features.artifacts.rules import owner_of, referred

MOST_TASKS = 10_000  # in one DAG, over all calls together, where an operator has set nothing else for it
HIGHEST_MOST_TASKS = 1_000_000
MOST_IN_A_BATCH = 1_000  # lone tasks of one call: they land in one transaction, and other writers wait for it
DEEPEST = 50  # from a task that nobody spawned down to the last that was
MOST_CHILDREN = 1_000  # of one attempt
_BY_SPAWNING = frozenset({"spawned", "awaited"})


def most_tasks(dag: Mapping[str, Json]) -> int:
    """How many tasks the DAG of this record may have."""
    return DAG.body(dag).get("max_tasks") or MOST_TASKS


def check_size(dag_id: DagId, there: int, new: int, most: int) -> None:
    if there + new > most:
        raise InvalidInput(
            "tasks",
            f"must leave {dag_id} with at most {most} tasks, and it has {there}: an operator may raise that with "
            "`taskyard budget tasks`",
        )


def check_batch(new: int) -> None:
    if new > MOST_IN_A_BATCH:
        raise InvalidInput("tasks", f"must be at most {MOST_IN_A_BATCH} in one call")


def check_depth(parent: TaskId, edges: Iterable[Edge]) -> None:
    """Refuse a child of a task that is as deep as tasks may be."""
    made_by = {edge.child: edge.parent for edge in edges if edge.kind in _BY_SPAWNING}
    depth, above = 1, parent
    while above in made_by and depth <= DEEPEST:
        depth, above = depth + 1, made_by[above]
    if depth >= DEEPEST:
        raise InvalidInput("tasks", f"must not be spawned from a task that is {DEEPEST} deep in spawned tasks itself")


def check_children(parent: TaskId, made: Collection[TaskId], new: int, edges: Iterable[Edge]) -> None:
    """Refuse more children than one attempt may have. `made` are those that its notes tell of."""
    children = {edge.child for edge in edges if edge.parent == parent and edge.kind in _BY_SPAWNING}
    if (before := len(children & set(made))) + new > MOST_CHILDREN:
        raise InvalidInput(
            "tasks", f"must be at most {MOST_CHILDREN} of one attempt over all calls, and this one has spawned {before}"
        )


def placed_under(draft: Definition, parent: Definition, given: Collection[str]) -> Definition:
    """What an agent spawns from a task that it holds. What the request does not say is no better than the parent's."""
    if draft.queue != parent.queue:
        raise _beyond("queue", "be that of the task that spawns it")
    if draft.priority < parent.priority and "priority" in given:
        raise _beyond("priority", "be no better than that of the task that spawns it")
    if draft.boost > parent.boost and "boost" in given:
        raise _beyond("priority_boost_per_minute", "be at most that of the task that spawns it")
    if draft.deadline is not None and (parent.deadline is None or draft.deadline < parent.deadline):
        raise _beyond("deadline", "be no earlier than that of the task that spawns it")
    return draft._replace(
        priority=max(draft.priority, parent.priority),
        boost=min(draft.boost, parent.boost),
        max_cost=_no_dearer(draft.max_cost, parent.max_cost),
        required_capabilities=tuple(dict.fromkeys((*parent.required_capabilities, *draft.required_capabilities))),
    )


def _no_dearer(mine: MicroUsd | None, parents: MicroUsd | None) -> MicroUsd | None:
    if mine is None or parents is None:
        return parents if mine is None else mine
    if mine > parents:
        raise _beyond("spec.constraints.max_cost_usd", "be at most that of the task that spawns it")
    return mine


def _beyond(field: str, rule: str) -> InvalidInput:
    return InvalidInput(field, f"must {rule}, unless an orchestrator spawns it")


def check_references(draft: Definition, parent: Definition, dag: Collection[TaskId]) -> None:
    """What an agent spawns depends on tasks of the DAG, and refers to these, their files and what its own was given."""
    if not set(draft.depends_on).issubset(dag):
        raise _beyond("depends_on", "name tasks of the DAG alone")
    own = {*parent.context_refs, *(f"task:{each}:output" for each in parent.depends_on)}
    for reference in draft.context_refs:
        if reference not in own and not is_within(reference, dag):
            raise _beyond("spec.context_refs", "name tasks and artifacts of the DAG alone")


def check_dependencies(drafts: Sequence[Definition], stored: Mapping[TaskId, Hot]) -> None:
    """Refuse what new tasks cannot depend on. `stored` are those of the tasks they name that are there."""
    new = {draft.id for draft in drafts}
    for dependency in sorted({each for draft in drafts for each in draft.depends_on} - new):
        hot = stored.get(dependency)
        if hot is None:
            raise InvalidInput("depends_on", f"{dependency} is unknown")
        if hot.status is Status.CANCELLED:
            raise InvalidInput("depends_on", f"{dependency} is cancelled, so this would wait for ever")
        if hot.traits & Trait.JUDGES:
            raise InvalidInput("depends_on", f"{dependency} judges another task's output: depend on that task")


def is_within(reference: str, dag: Collection[TaskId]) -> bool:
    """Whether a reference names a task or an artifact of the DAG, or nothing that is kept in the yard."""
    kind, _, rest = reference.partition(":")
    if kind == "task":
        return TaskId(rest.removesuffix(":output")) in dag
    artifact = referred(reference)
    return artifact is None or owner_of(artifact) in dag
