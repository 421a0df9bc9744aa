"""Patterns mined from repeated episodes."""
