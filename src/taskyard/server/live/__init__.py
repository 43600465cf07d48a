"""Connections that stay open: streams and sockets that follow events."""
