"""Waiting for somebody's word."""
