"""The output of the demonstration: scenes, lines of dialogue, notes, and checks."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

_PASSED = "[ok]"
_FAILED = "[FAILED]"


class Stage:
    """The terminal on which the story is told. It keeps the result of every check."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._scenes = 0
        self.checks: list[tuple[str, bool]] = []

    @property
    def failures(self) -> int:
        """The number of checks that failed."""
        return sum(not holds for _, holds in self.checks)

    def open(self, text: str) -> None:
        """Print a line outside of all scenes."""
        self._print(Text(text))

    def scene(self, title: str) -> None:
        """Begin a scene."""
        self._scenes += 1
        self._print(Text(f"\n{self._scenes}. {title}\n", "bold cyan"))

    def say(self, speaker: str, text: str) -> None:
        """Print a line of dialogue."""
        style = "bold green" if speaker == "Ada" else "bold blue"
        self._print(Text.assemble((f"{speaker}: ", style), text), indent=3)

    def note(self, text: str, detail: str = "") -> None:
        """Print what happened, with a detail in grey."""
        self._print(Text.assemble(text, (f"  {detail}" if detail else "", "dim")), indent=3)

    def quote(self, text: str) -> None:
        """Print a longer text with a bar in front of each line."""
        self._console.print()
        for line in text.splitlines():
            self._print(Text(f"| {line}", "dim"), indent=3)
        self._console.print()

    def check(self, sentence: str, holds: bool) -> None:
        """Print whether a statement holds, and keep the result."""
        self.checks.append((sentence, holds))
        mark = (_PASSED, "bold green") if holds else (_FAILED, "bold red")
        self._print(Text.assemble(mark, " ", sentence), indent=3)

    def _print(self, text: Text, indent: int = 0) -> None:
        # Texts of the story are never parsed as rich markup.
        self._console.print(Padding(text, (0, 0, 0, indent), expand=False))
