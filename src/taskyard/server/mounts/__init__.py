"""Protocols of their own under paths of the server."""
