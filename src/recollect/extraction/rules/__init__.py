"""Extraction by rules of English, with no model."""

from recollect.extraction.rules.rules import RulesExtractor

__all__ = ["RulesExtractor"]
