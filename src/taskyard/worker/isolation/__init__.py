"""What keeps one command agent's program from the rest: a worktree of its own, and limits."""
