"""Figures that are counted from the log."""
