"""`longmind skill`: the guidance for agents that comes with the memory tools."""

from __future__ import annotations

from longmind.cli.output import AsJson, answer_json, write
from longmind.tools.skill_text import load_skill_text


def skill(as_json: AsJson = False) -> None:
    """Print when to remember, when not to, and how: a document for the instructions of an agent."""
    answer_json({"skill": load_skill_text()}) if as_json else write(load_skill_text(), end="")
