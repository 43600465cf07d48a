"""What may be asked for: the fields of a task, their names, what they may hold, and how they are stored."""
