"""`recollect skill`: the guidance for agents that comes with the memory tools."""

from __future__ import annotations

from importlib.resources import files

import typer


def skill() -> None:
    """Print when to remember, when not to, and how: a document for the instructions of an agent."""
    typer.echo((files("recollect.tools") / "skill.md").read_text("utf-8"), nl=False)
