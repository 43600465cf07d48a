"""Agents and tools that are reached by a protocol, as workers: no code is written for them."""
