"""Scoring and ordering of indexed atoms and events."""
