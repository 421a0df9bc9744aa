"""Guidance for agents that comes with the memory tools: when to remember, when not to, and how."""

from __future__ import annotations

from importlib.resources import files


def load_skill_text() -> str:
    """Return the guidance as Markdown."""
    return (files("longmind.tools") / "skill.md").read_text("utf-8")
