"""What a record is read as is what was written."""

from typing import Any

import pytest

from taskyard.core.agent import AgentType, RegisteredAgent
from taskyard.core.changes import Record
from taskyard.core.record_kinds import AGENT, AGENT_TYPE, DAG, RecordKind
from taskyard.features.artifacts.rules import ARTIFACT, Artifact
from taskyard.features.cutovers.rules import CUTOVER, Cutover
from taskyard.features.inbox.items import ITEM, Item
from taskyard.features.memory.rules import MEMORY, MemoryPolicy
from taskyard.features.notifications.rules import NOTIFICATION, NOTIFIER, Notification, Notifier
from taskyard.features.schedules.rules import SCHEDULE, Schedule
from taskyard.features.tokens.rules import SESSION, TOKEN, Session, Token
from taskyard.features.triggers.figures import RULE_STATE, RuleState
from taskyard.features.triggers.rules import TRIGGER, Trigger
from tests.api.samples import sample_of

WRITTEN: list[tuple[RecordKind[Any], type]] = [
    *((AGENT, RegisteredAgent), (AGENT_TYPE, AgentType), (ARTIFACT, Artifact), (ITEM, Item), (MEMORY, MemoryPolicy)),
    *((NOTIFICATION, Notification), (NOTIFIER, Notifier), (SCHEDULE, Schedule), (SESSION, Session), (TOKEN, Token)),
    *((RULE_STATE, RuleState), (TRIGGER, Trigger), (CUTOVER, Cutover)),
]


@pytest.mark.parametrize(("kind", "value"), WRITTEN, ids=lambda each: getattr(each, "__name__", "of"))
def test_a_body_has_the_shape_that_is_declared_for_its_kind(kind: RecordKind[Any], value: type):
    written, declared = sample_of(value).body().keys(), kind.shape.__annotations__
    optional = {name for name, hint in declared.items() if "NotRequired" in str(hint)}

    assert written | optional == declared.keys()


def test_a_record_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="kind agent was read as one of kind dag"):
        DAG.of(Record("agent", "default", "coder", 1, {}))
