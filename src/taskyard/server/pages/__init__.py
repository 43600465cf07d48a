"""Pages that hold nothing of a yard: the dashboard, and the manual at /docs."""
