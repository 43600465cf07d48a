"""How attempts end: completed, failed, given back, expired or lost."""
