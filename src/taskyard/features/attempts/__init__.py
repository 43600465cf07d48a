"""Attempts: claiming tasks, working on them, judging what they hand in."""
