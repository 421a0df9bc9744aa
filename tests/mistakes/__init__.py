"""Mistakes that people make, and their messages; `python -m tests.mistakes` writes docs/reference/mistakes.md."""
