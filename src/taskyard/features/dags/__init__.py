"""DAGs: tasks that depend on each other."""
