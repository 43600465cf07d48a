"""`taskyard tui`: the yard on a whole terminal, live. It needs the extra `tui`."""
