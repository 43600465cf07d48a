"""The event log of the SQLite store: one row for each commit and workspace."""
