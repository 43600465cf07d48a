"""A form made from a JSON Schema: texts, numbers, choices, yes or no; what no field can hold is typed as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, NamedTuple, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Footer, Input, Select, Static, TextArea

from taskyard.cli.answer_prompts import TitledChoice, choices_of, typed_value, wanted_words, words_of
from taskyard.cli.terminal import Text
from taskyard.core.errors import InvalidInput, TaskyardError
from taskyard.core.json_value import Json, compact
from taskyard.visible_text import visible

Send = Callable[[Json], Awaitable[object]]
YES_OR_NO = [TitledChoice(value, words_of(value)) for value in (True, False)]
LINES = ("string", "integer", "number")


class FormField(NamedTuple):
    """One value of a form. It has no name where the whole answer is this one value."""

    name: str | None
    rules: dict[str, Json]
    is_required: bool

    @property
    def label(self) -> str:
        title = str(self.rules.get("title") or self.name or "answer")
        about = self.rules.get("description")
        more = f": {about}" if isinstance(about, str) and about else ""
        return f"{title}{' *' if self.is_required else ''}{more}"

    @property
    def choices(self) -> list[TitledChoice]:
        return choices_of(self.rules) or (YES_OR_NO if self.rules.get("type") == "boolean" else [])

    @property
    def _prefilled(self) -> str:
        default = self.rules.get("default")
        if default is None:
            return ""
        return visible(words_of(default) if self.rules.get("type") in LINES else compact(default))

    def widget(self, number: int) -> Widget:
        place = f"field-{number}"
        if self.choices:
            options = [(Content(visible(choice.title)), index) for index, choice in enumerate(self.choices)]
            default = self.rules.get("default")
            # True is 1 to Python, and not to JSON.
            chosen = [index for index, choice in enumerate(self.choices) if compact(choice.value) == compact(default)]
            value = chosen[0] if chosen and "default" in self.rules else Select.NULL
            choices: Any = options
            return Select(choices, value=value, prompt="choose", id=place, compact=True)
        if self.rules.get("type") in LINES:
            return Input(self._prefilled, id=place, compact=True)
        return TextArea(self._prefilled, id=place, compact=True)

    def value(self, widget: Widget) -> tuple[Json, ...]:
        """What was filled in; nothing where the field was left empty and may be."""
        match widget:
            case Select():
                index = cast("Select[int]", widget).value
                typed = "" if index is Select.NULL else "chosen"
                found = self.choices[index].value if isinstance(index, int) else None
            case Input():
                typed, found = widget.value.strip(), None
            case TextArea():
                typed, found = widget.text.strip(), None
            case _:
                raise TypeError(widget)
        if not typed:
            if self.is_required:
                raise InvalidInput(self.name or "answer", "is required")
            return ()
        if self.choices:
            return (found,)
        if typed == self._prefilled.strip():  # itself, and not as it is shown
            return (self.rules["default"],)
        try:
            return (typed_value(typed, self.rules.get("type")),)
        except (ValueError, KeyError, RecursionError):
            raise InvalidInput(self.name or "answer", wanted_words(self.rules.get("type"), [])) from None


def fields_of(schema: Json) -> list[FormField]:
    """An object has a field for each of its members; everything else is one field."""
    rules = schema if isinstance(schema, dict) else {}
    members, required = rules.get("properties"), rules.get("required")
    if rules.get("type") != "object" or not isinstance(members, dict) or not members:
        return [FormField(None, rules, True)]
    needed = required if isinstance(required, list) else []
    return [FormField(name, each if isinstance(each, dict) else {}, name in needed) for name, each in members.items()]


class FormDialog(ModalScreen[bool]):
    """Asks for an answer, and stays until it is taken: what the yard refuses is shown, and can be put right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Send"),
        Binding("escape", "leave", "Leave"),
    ]

    def __init__(self, heading: str, about: Text, schema: Json, send: Send) -> None:
        super().__init__()
        self._heading = heading
        self._about = about
        self._fields = fields_of(schema)
        self._widgets = [field.widget(number) for number, field in enumerate(self._fields)]
        self._send = send

    def compose(self) -> ComposeResult:
        with Vertical(id="form"):
            yield Static(Text(self._heading, style="bold"), id="heading")
            with VerticalScroll(id="fields", can_focus=False):
                yield Static(self._about, id="about")
                for field, widget in zip(self._fields, self._widgets, strict=True):
                    yield Static(Text(field.label, style="dim"))
                    yield widget
                yield Button("Send", id="send", variant="primary", compact=True)
            yield Static(id="refused")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self._widgets[0].focus()

    def on_button_pressed(self) -> None:
        self.action_send()

    def action_leave(self) -> None:
        self.dismiss(False)

    def action_send(self) -> None:
        # One at a time: what was sent is not sent again by a second press of the key.
        if not any(worker.group == "send" and worker.is_running for worker in self.workers if worker.node is self):
            self.run_worker(self._hand_in(), group="send")

    async def _hand_in(self) -> None:
        try:
            await self._send(self._value())
        except TaskyardError as refusal:
            self.query_one("#refused", Static).update(Text(f"{refusal.code}: {refusal}", style="bold red"))
        else:
            self.dismiss(True)

    def _value(self) -> Json:
        filled = [(field.name, field.value(widget)) for field, widget in zip(self._fields, self._widgets, strict=True)]
        if self._fields[0].name is None:
            return filled[0][1][0]
        return {str(name): values[0] for name, values in filled if values}
