"""DAGs: the list of them, and one as a tree with the states of its tasks."""

from __future__ import annotations

from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Static, Tree
from textual.widgets.tree import TreeNode

from taskyard.api import calls
from taskyard.cli.terminal import Text, age, dollars, one_line, short, state, title_of
from taskyard.core.json_value import Json
from taskyard.core.task import TaskId
from taskyard.core.units import Micros
from taskyard.features.dags.outline import DEEPEST_DRAWN, OutlinedTask, outline
from taskyard.features.dags.views import DagInShort, DagView
from taskyard.features.tasks.task_rows import TaskInShort
from taskyard.tui.form_dialog import FormDialog
from taskyard.tui.row_table import RowTable
from taskyard.tui.task_screen import CANCEL
from taskyard.tui.terminal_session import TerminalSession
from taskyard.tui.yard_screen import DagChosen, DetailScreen, TaskChosen, YardScreen

PAGE = 100


class DagListScreen(YardScreen):
    PLACE = "DAGs"

    def body(self) -> ComposeResult:
        yield Static(id="which")
        yield RowTable("state", "title", "by", "spent", "age", "dag", id="dags")

    async def read(self) -> None:
        dags, now = await self.yard.dags.list(limit=PAGE), self.yard.now()
        self.show_text("#which", Text("" if dags else "no DAGs: put one in with `taskyard submit FILE`", style="dim"))
        self.query_one(RowTable).show_rows([(dag.id, _dag_cells(dag, now)) for dag in dags])

    def on_data_table_row_selected(self, chosen: DataTable.RowSelected) -> None:
        self.post_message(DagChosen(str(chosen.row_key.value)))


class DagScreen(DetailScreen):
    """Each task stands under the last it depends on, or under the task that spawned it; other parents are named."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "cancel", "Cancel the DAG")]
    CALLS = {"cancel": calls.CANCEL_DAG}  # noqa: RUF012 - a constant

    def __init__(self, session: TerminalSession, dag_id: str) -> None:
        super().__init__(session)
        self.dag_id = dag_id
        self._drawn: DagView | None = None
        self._placed: dict[TaskId, TreeNode[str]] = {}
        self._levels: dict[TaskId, int] = {}

    def body(self) -> ComposeResult:
        yield Static(id="heading")
        tree: Tree[str] = Tree(Text(self.dag_id), id="graph")
        tree.auto_expand = False  # enter opens the task
        yield tree

    async def read(self) -> None:
        dag = await self.yard.dags.get(self.dag_id)
        ceiling = f" of {dollars(dag.budget_ceiling)}" if dag.budget_ceiling else ""
        done = sum(task.status.is_final for task in dag.tasks)
        facts = f"  {dag.status.value}  {done}/{len(dag.tasks)} ended  {dollars(dag.spent)}{ceiling}"
        self.show_text("#heading", Text.assemble((one_line(dag.title) or dag.id, "bold"), facts))
        self._draw(dag)

    def _draw(self, dag: DagView) -> None:
        """A graph of the same shape gets new labels; another one is drawn anew."""
        placed, before = outline(dag), self._drawn
        self._drawn = dag
        titles = {each.task.id: title_of(each.task) for each in placed}
        if before is None or [*map(_shape, outline(before))] != [*map(_shape, placed)]:
            tree = cast("Tree[str]", self.query_one("#graph"))
            tree.clear()
            tree.root.set_label(Text(one_line(dag.title) or dag.id))
            tree.root.expand()
            self._add(tree.root, placed)
        for task, parents in placed:
            is_beside = self._levels[task.id] > DEEPEST_DRAWN
            after = [titles[each] for each in (parents if is_beside else parents[:-1])]
            self._placed[task.id].set_label(_label(task, after, "↳ " if is_beside else ""))

    def _add(self, root: TreeNode[str], placed: list[OutlinedTask]) -> None:
        self._placed, self._levels = {}, {}
        below: dict[TaskId, TreeNode[str]] = {}  # where what comes after a task is put
        for task, parents in placed:
            above = below[parents[-1]] if parents else root
            level = self._levels[task.id] = self._levels[parents[-1]] + 1 if parents else 1
            node = self._placed[task.id] = above.add("", data=task.id, expand=True)
            below[task.id] = node if level < DEEPEST_DRAWN else above

    def on_tree_node_selected(self, chosen: Tree.NodeSelected[str]) -> None:
        if chosen.node.data is not None:
            self.post_message(TaskChosen(chosen.node.data))

    def action_cancel(self) -> None:
        async def send(answer: Json) -> None:
            assert isinstance(answer, dict)
            await self.yard.dags.cancel(self.dag_id, str(answer["reason"]), by=self.session.by)

        self.open_form(FormDialog("Cancel every task of the DAG", Text(self.dag_id), CANCEL, send))


def _shape(placed: OutlinedTask) -> tuple[TaskId, tuple[TaskId, ...]]:
    return placed.task.id, placed.parents


def _label(task: TaskInShort, after: list[str], mark: str) -> Text:
    label = Text.assemble(mark, state(task.status), "  ", (title_of(task), "bold"), (f"  {short(task.id)}", "dim"))
    if task.failures:
        label.append(f"  {task.failures} failed", style="yellow")
    if task.status.is_held:
        label.append(f"  {task.agent}", style="blue")
    return label.append(f"  (after {', '.join(after)})" if after else "", style="dim")


def _dag_cells(dag: DagInShort, now: Micros) -> tuple[str | Text, ...]:
    spent = dollars(dag.spent) if dag.spent else ""
    return dag.status.value, one_line(dag.title)[:40], dag.created_by, spent, age(dag.created_at, now), dag.id
