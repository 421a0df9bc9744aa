"""`longmind skill`: print the guidance for agents that use the memory tools.

The text is also the MCP resource longmind://skill.
"""

from __future__ import annotations

from longmind.cli.output import AsJson, print_json, write_text
from longmind.tools.skill_text import load_skill_text


def skill(as_json: AsJson = False) -> None:
    """Print guidance on memory, for the instructions of an agent."""
    print_json({"skill": load_skill_text()}) if as_json else write_text(load_skill_text(), end="")
