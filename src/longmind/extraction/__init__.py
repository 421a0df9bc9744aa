"""Extraction: from messages to atoms.

`pipeline` runs the steps. `rules` and `model` are the two extractors, which find candidates in messages; `reconcile`
decides what each candidate means for the facts already known; `patterns` finds what recurs among events, and
`consolidation` merges what says the same.
"""
