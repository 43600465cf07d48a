"""A yard on the machine's clock, on the two stores that servers have: agents live in real time."""

from tests.mcp.conftest import live

__all__ = ["live"]
