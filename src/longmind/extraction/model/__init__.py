"""Extraction by a language model: prompts, answer schema, citations and the spend cap."""
