"""Agents and runtimes: who registers, is heard of, is drained, and is forgotten."""
