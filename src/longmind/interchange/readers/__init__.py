"""Readers of the files of other products, one module each."""
