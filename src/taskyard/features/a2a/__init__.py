"""Types of tasks that agents elsewhere may ask for over A2A, and the tasks that they asked for."""
