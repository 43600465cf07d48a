"""The yard over HTTP."""
