"""The card of a workspace: what it can be asked for, where, and in which versions of the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a.utils.constants import PROTOCOL_VERSION_0_3, PROTOCOL_VERSION_1_0, TransportProtocol

from taskyard.api.calls import A2A_RPC
from taskyard.features.a2a.views import PublishedTypeView

MODES = ("text/plain", "application/json")
BINDINGS = (TransportProtocol.HTTP_JSON, TransportProtocol.JSONRPC)
VERSIONS = (PROTOCOL_VERSION_1_0, PROTOCOL_VERSION_0_3)
BEARER = "token"


def card(published: Sequence[PublishedTypeView], workspace: str, base_url: str) -> AgentCard:
    """The card that says what is published; `base_url` is where the server was reached."""
    url = f"{base_url.rstrip('/')}{A2A_RPC.path}"
    return AgentCard(
        name=f"Taskyard: {workspace}",
        description="A durable task queue for agents. Each skill is a type of tasks; what is asked for is never lost.",
        version=version("taskyard"),
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding.value, protocol_version=protocol)
            for protocol in VERSIONS
            for binding in BINDINGS
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True, extended_agent_card=True),
        security_schemes={
            BEARER: SecurityScheme(
                http_auth_security_scheme=HTTPAuthSecurityScheme(
                    scheme="Bearer", description="A token of the yard, as `taskyard token create` makes it."
                )
            )
        },
        security_requirements=[SecurityRequirement(schemes={BEARER: StringList()})],
        default_input_modes=[*MODES, "application/octet-stream"],
        default_output_modes=[*MODES, "application/octet-stream"],
        skills=[_skill(each) for each in published],
    )


def _skill(published: PublishedTypeView) -> AgentSkill:
    return AgentSkill(
        id=published.type,
        name=published.type,
        description=published.description or f"Tasks of the type {published.type}.",
        tags=["default"] if published.is_default else ["task"],
        examples=published.examples,
    )
