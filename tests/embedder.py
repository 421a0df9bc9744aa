"""The embedder of the tests, which the proof uses too."""

from harness.embedder import WordsEmbedder

__all__ = ["WordsEmbedder"]
