"""Prompts that remember."""
