"""Tools, one module for each noun."""
