"""Writing the rows of tasks: new ones, steps of stored ones, attempts, and what goes with a removed task."""
