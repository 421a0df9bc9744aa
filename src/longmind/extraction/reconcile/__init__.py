"""Decisions about candidates: whether each is added, reinforces or replaces a known fact, or is skipped."""
