"""The agent board: tasks as cards, in columns by state and in lanes by agent, subject or type."""
