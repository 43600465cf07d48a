"""The audit log: who did what, kept longer than the work itself."""
