"""The threads of the SQLite store: one writes, others read, and both answer on the event loop."""
