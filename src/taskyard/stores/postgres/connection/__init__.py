"""Connections to a PostgreSQL server: address, pool, schema, and wake-ups by NOTIFY."""
