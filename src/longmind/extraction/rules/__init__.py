"""Extraction by rules of English, with no model."""

from longmind.extraction.rules.extractor import RulesExtractor

__all__ = ["RulesExtractor"]
