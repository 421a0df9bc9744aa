"""The page of mistakes: the messages in it, and how it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.mistakes.bench import Bench
from tests.mistakes.cases import COMMANDS, MEMORY, OPENING, PROTOCOL, PYTHON, REQUESTS

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "mistakes.md"
SECTIONS: Mapping[str, Sequence[str]] = {
    "Opening a database": OPENING,
    "Memory in three lines": MEMORY,
    "Python": PYTHON,
    "Command line": COMMANDS,
    "REST": REQUESTS,
    "MCP": PROTOCOL,
}
_INTRODUCTION = """\
# Mistakes

Mistakes that people make, each with the message they get. `python -m tests.mistakes` writes this page by making them,
and the tests make them again on both engines. In Python, `space` is a memory space, `pets` a category, `chat` a
conversation, `closed` one that is closed, and `ctx`, `bob` and `admin` are contexts of three users. A number in
parentheses is the exit code of a command, a number in front of a REST message its status.
"""


def run_section(bench: Bench, section: str) -> dict[str, str]:
    """Make the mistakes of a section, and return the message of each."""
    cases = SECTIONS[section]
    match section:
        case "Command line":
            return {case: bench.run_command(case) for case in cases}
        case "REST":
            with bench.serve() as client:
                return {case: bench.run_request(client, case) for case in cases}
        case "MCP":
            return {case: bench.run_tool(case) for case in cases}
        case _:
            return {case: bench.run_python(case) for case in cases}


def write_section(section: str, messages: Mapping[str, str]) -> str:
    """Return a section of the page."""
    rows = "\n".join(f"| `{_escape(case)}` | {_escape(message)} |" for case, message in messages.items())
    return f"## {section}\n\n| mistake | message |\n| --- | --- |\n{rows}\n"


def write_page(sections: Mapping[str, Mapping[str, str]]) -> str:
    """Return the whole page."""
    return "\n".join([_INTRODUCTION, *(write_section(name, messages) for name, messages in sections.items())])


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
