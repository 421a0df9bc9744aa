"""Finds the right memory: words, vectors, what is cached of a space, and how hits are ranked."""
