"""Tokens and sessions: who may do what."""
