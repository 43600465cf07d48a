"""Connections to a PostgreSQL server: pooled, prepared, migrated, and told of other processes' writes by NOTIFY."""
