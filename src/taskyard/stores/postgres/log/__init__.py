"""The event log of the PostgreSQL store: one row for each commit and workspace."""
