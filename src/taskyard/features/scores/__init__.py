"""How good the results of tasks are, and which variant of a task type does better."""
