"""Moving a yard to another store, or from one."""
