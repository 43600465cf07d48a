"""The shape of the code: composed features, one way into the store, folders that can be read at a glance.

Each rule is a function over the sources, so that a test can plant what the rule is there to catch. The lists of
exceptions say what is true today; an entry may get smaller or go, and never grow.
"""

import ast
import enum
import importlib
import inspect
import pkgutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pydantic
import pytest

import taskyard
from scripts.shape import class_names_used_twice, module_names_used_twice, uses_of

PACKAGE = Path(taskyard.__file__).parent
Sources = Mapping[str, ast.Module]  # by path below the package

MOST_ANCESTORS = 4
MOST_MODULES = 15
MOST_CASTS = 50
MOST_ANY_IN_CORE = 28
NOT_COUNTED = frozenset(
    {"core", "features", "client", "server/routes", "cli/commands"}
)  # the core, and the folders of the grid
# They commit sets of removals: what they remove concerns no listener, and pruning is bounded by its own batches.
COMMITS_TO_STORE = {"cli/programs/bench.py": 1, "features/retention/pruning.py": 1}

# Claims, completions and queries are the same thing in a feature and in the layer below it.
MODULE_NAMES_USED_TWICE = {"claims", "codec", "completions", "connection", "queries", "server"}


@pytest.fixture(scope="module")
def sources() -> Sources:
    return {str(path.relative_to(PACKAGE)): ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Every node of it. To walk through all sources takes half a second, and each rule looks at them."""
    return tuple(ast.walk(tree))


def with_code(sources: Sources, path: str, code: str) -> Sources:
    """The sources with this code at the end of one module."""
    body = [*(sources[path].body if path in sources else ()), *ast.parse(code).body]
    return {**sources, path: ast.Module(body, type_ignores=[])}


# Ancestors


def own_classes() -> Iterator[type]:
    for module in pkgutil.walk_packages(taskyard.__path__, "taskyard."):
        if not module.name.endswith("__main__"):
            for each in vars(importlib.import_module(module.name)).values():
                if inspect.isclass(each) and each.__module__ == module.name:
                    yield each


def own_ancestors(kind: type) -> int:
    """How many classes of ours a method may come from. Values, errors and requests have only fields."""
    if issubclass(kind, BaseException | enum.Enum | tuple | pydantic.BaseModel):
        return 0
    return sum(each.__module__.startswith("taskyard.") for each in kind.__mro__)


def deep(kinds: Collection[type]) -> dict[str, int]:
    numbers = {f"{kind.__module__}.{kind.__qualname__}": own_ancestors(kind) for kind in kinds}
    return {name: number for name, number in numbers.items() if number > MOST_ANCESTORS}


def test_no_class_has_more_than_four_ancestors():
    assert deep(list(own_classes())) == {}


def test_a_tower_of_classes_is_found():
    tower: type = object
    for _ in range(MOST_ANCESTORS + 1):
        tower = type("Floor", (tower,), {"__module__": "taskyard.features"})

    assert set(deep([tower]).values()) == {5}


# Who may decide what a failure leads to


def uses_of_failure_path(sources: Sources) -> set[tuple[str, str]]:
    """Where the class is named, or an instance of it is reached, and in which function."""
    found: set[tuple[str, str]] = set()
    for path, tree in sources.items():
        for function in functions_of(tree):
            for node in nodes_of(function):
                match node:
                    case ast.Name(id="FailurePath") | ast.Attribute(attr="FailurePath"):
                        found.add((path, function.name))
                    case ast.Attribute(attr="failure_path" | "_failure_path"):
                        found.add((path, function.name))
                    case _:
                        pass
    return found


def functions_of(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (each for each in nodes_of(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))


VALIDATORS = "features/attempts/validation/validators.py"
MAY_FAIL_ATTEMPTS = {(VALIDATORS, "__init__"), (VALIDATORS, "failed"), ("workspace.py", "__init__")}


def test_only_validators_call_the_failure_path(sources: Sources):
    assert uses_of_failure_path(sources) == MAY_FAIL_ATTEMPTS
    given_to = [
        built.func.id
        for built, _ in built_features(sources)
        if isinstance(built.func, ast.Name) and any(_is_feature(each, "failure_path") for each in built.args)
    ]
    assert given_to == ["Validators"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("features/attempts/endings/expiry.py", "async def expire(self): await self._failure_path.decide(hot)"),
        ("sweeper.py", "async def sweep(self): await self._here.failure_path.decide(hot)"),
        ("features/agents/lost_work.py", "def fail(ledger, keys): return FailurePath(ledger, keys)"),
        (VALIDATORS, "async def cancelled(self): await self._failure_path.decide(hot)"),
    ],
)
def test_another_caller_of_the_failure_path_is_found(sources: Sources, path: str, code: str):
    assert uses_of_failure_path(with_code(sources, path, code)) != MAY_FAIL_ATTEMPTS


# Composition


def built_features(sources: Sources) -> Iterator[tuple[ast.Call, str]]:
    """What the constructor of the workspace builds, and the name that each feature has there."""
    (constructor,) = (each for each in functions_of(sources["workspace.py"]) if each.name == "__init__")
    for node in constructor.body:
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=str(name)), *_], value=ast.Call() as built
            ):
                yield built, name
            case _:
                pass


def _is_feature(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name


def names_imported(tree: ast.Module) -> dict[str, str]:
    """What a module imports by name, and where from."""
    found = (node for node in nodes_of(tree) if isinstance(node, ast.ImportFrom))
    return {alias.name: node.module or "" for node in found for alias in node.names}


def feature_classes(sources: Sources) -> dict[str, str]:
    imported = names_imported(sources["workspace.py"])
    return {name: module for name, module in imported.items() if module.startswith("taskyard.features.")}


def built_elsewhere(sources: Sources) -> set[str]:
    """Features that are built anywhere but in the workspace."""
    classes = feature_classes(sources)
    found: set[str] = set()
    for path, tree in sources.items():
        if path != "workspace.py":
            mine = {name for name, module in names_imported(tree).items() if classes.get(name) == module}
            calls = (node.func for node in nodes_of(tree) if isinstance(node, ast.Call))
            found |= {f"{path}: {func.id}" for func in calls if isinstance(func, ast.Name) and func.id in mine}
    return found


def test_only_the_workspace_builds_features(sources: Sources):
    assert built_elsewhere(sources) == set()


def test_a_feature_that_builds_another_is_found(sources: Sources):
    drafts = "from taskyard.features.tasks.creation.drafts import Drafts"
    planted = with_code(sources, "features/tasks/bulk.py", f"{drafts}\ndef made(*given): return Drafts(*given)")

    assert built_elsewhere(planted) == {"features/tasks/bulk.py: Drafts"}


def test_every_feature_is_given_the_ledger_and_features_that_were_built_before_it(sources: Sources):
    built: set[str] = {"ledger"}
    for call, name in built_features(sources):
        if name != "ledger":
            needs = {each.attr if isinstance(each, ast.Attribute) else ast.unparse(each) for each in call.args}
            assert needs <= built, f"{name} takes {sorted(needs - built)}"
            assert not call.keywords
        built.add(name)
    assert len(built) > len(feature_classes(sources)) - 3  # feeds are built where they are registered


def imports_among_features(sources: Sources) -> dict[str, set[str]]:
    """For each module of the features, those that it imports when it is loaded or run."""
    names = {f"taskyard.{path.removesuffix('.py').replace('/', '.')}": path for path in sources}
    graph: dict[str, set[str]] = {}
    for path, tree in sources.items():
        if path.startswith("features/"):
            wanted = {module for node in run_time_nodes(tree) for module in imported_by(node)}
            graph[path] = {names[each] for each in wanted if each in names and names[each].startswith("features/")}
    return graph


def run_time_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield child
            yield from run_time_nodes(child)


def imported_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(module), names=names):
            yield module
            yield from (f"{module}.{alias.name}" for alias in names)
        case _:
            pass


def cycle_of(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_modules_of_features_import_each_other_in_a_cycle(sources: Sources):
    graph = imports_among_features(sources)

    assert sum(map(len, graph.values())) > 100
    assert cycle_of(graph) == []


def test_a_cycle_among_features_is_found(sources: Sources):
    planted = with_code(sources, VALIDATORS, "def expiry():\n    from taskyard.features.attempts.endings import expiry")

    assert set(cycle_of(imports_among_features(planted))) == {VALIDATORS, "features/attempts/endings/expiry.py"}


def test_an_import_for_types_alone_makes_no_cycle(sources: Sources):
    planted = with_code(
        sources, VALIDATORS, "if TYPE_CHECKING:\n    from taskyard.features.attempts.endings import expiry"
    )

    assert cycle_of(imports_among_features(planted)) == []


# One way into the store


def commits_to(owners: Collection[str], sources: Sources) -> dict[str, int]:
    """How often a module outside of the ledger and the stores calls `commit` of an object with one of these names."""
    found: Counter[str] = Counter()
    for path, tree in sources.items():
        if not path.startswith(("ledger/", "stores/")):
            for node in nodes_of(tree):
                match node:
                    case ast.Attribute(
                        attr="commit" | "commit_all" | "commit_now",
                        value=ast.Name(id=str(name)) | ast.Attribute(attr=str(name)),
                    ):
                        found[path] += name in owners
                    case _:
                        pass
    return {path: number for path, number in found.items() if number}


STORES = ("store", "_store")
QUEUES = ("queue", "_queue")


def test_only_the_ledger_commits_to_the_store(sources: Sources):
    assert grown(commits_to(STORES, sources), COMMITS_TO_STORE) == {}


def test_features_commit_through_the_ledger(sources: Sources):
    assert commits_to(QUEUES, sources) == {}


@pytest.mark.parametrize("code", ["self._store.commit(sets)", "ledger.store.commit(sets)", "f(self.store.commit)"])
def test_another_way_into_the_store_is_found(sources: Sources, code: str):
    planted = with_code(sources, "features/tasks/bulk.py", code)

    assert grown(commits_to(STORES, planted), COMMITS_TO_STORE) == {"features/tasks/bulk.py": 1}


def test_a_commit_past_the_ledger_is_found(sources: Sources):
    planted = with_code(sources, "features/metrics/service.py", "self._ledger.queue.commit_now(sets)")

    assert commits_to(QUEUES, planted) == {"features/metrics/service.py": 1}


# Folders


def full_folders(paths: Collection[str]) -> dict[str, int]:
    modules = [Path(path) for path in paths if not path.endswith("__init__.py")]
    held = Counter(str(path.parent) for path in modules)
    return {name: number for name, number in held.items() if number > MOST_MODULES and name not in NOT_COUNTED}


def test_a_folder_holds_at_most_fifteen_modules(sources: Sources):
    assert full_folders(sources.keys()) == {}


def test_a_folder_that_fills_up_is_found(sources: Sources):
    more = {*sources, *(f"outbound/channel_{number}.py" for number in range(MOST_MODULES))}

    assert set(full_folders(more)) == {"outbound"}


# Names


def test_no_class_name_is_used_twice(sources: Sources):
    assert class_names_used_twice(sources) == {}


def test_a_module_name_is_used_twice_only_where_it_is_listed(sources: Sources):
    assert module_names_used_twice(sources).keys() <= MODULE_NAMES_USED_TWICE


def test_a_class_name_that_is_used_twice_is_found(sources: Sources):
    planted = with_code(sources, "features/agents/service.py", "class Schedules: ...")
    paths = ["features/agents/service.py", "features/schedules/service.py"]

    assert class_names_used_twice(planted)["Schedules"] == paths


def test_a_module_name_that_is_used_twice_is_found(sources: Sources):
    assert module_names_used_twice([*sources, "server/agenda.py"])["agenda"] == [
        "features/schedules/agenda.py",
        "server/agenda.py",
    ]


def test_a_part_that_every_store_has_is_one_name(sources: Sources):
    planted = [*sources, "stores/redis/blockers.py", "features/agents/checks.py", "server/routes/retention.py"]

    assert module_names_used_twice(planted).keys() <= MODULE_NAMES_USED_TWICE


# Types


def test_casts_and_untyped_values_get_no_more(sources: Sources):
    assert uses_of("cast", sources) <= MOST_CASTS
    assert uses_of("Any", sources, "core/") <= MOST_ANY_IN_CORE


def test_another_cast_is_found(sources: Sources):
    planted = with_code(sources, "core/task.py", "def hot(row: Any) -> Hot: return cast(Hot, row)")

    assert uses_of("cast", planted) == uses_of("cast", sources) + 1
    assert uses_of("Any", planted, "core/") == uses_of("Any", sources, "core/") + 1
    assert uses_of("Any", planted, "stores/") == uses_of("Any", sources, "stores/")


# Exceptions


def grown(found: Mapping[str, int], allowed: Mapping[str, int]) -> dict[str, int]:
    """What is in no list of exceptions, or is more than the list says."""
    return {name: number for name, number in found.items() if number > allowed.get(name, 0)}


def test_no_exception_is_listed_that_is_none_any_more(sources: Sources):
    assert COMMITS_TO_STORE.keys() <= commits_to(STORES, sources).keys()
