"""The same calls over HTTP."""
