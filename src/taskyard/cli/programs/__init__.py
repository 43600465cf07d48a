"""Commands that are programs of their own: demo, bench, migrate, serve, and a worker that reloads."""
