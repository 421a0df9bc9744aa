"""Faces of other libraries over Longmind, so that programs written for them run with few changes."""
