"""How a story is told on a terminal: scenes, what is said, what is remembered, and whether it is as it should be."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

_ALL_RIGHT = "[ok]"
_NOT_SO = "[NOT SO]"


class Stage:
    """Tells what happens, and remembers whether all of it was as it should be."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._scenes = 0
        self.checks: list[tuple[str, bool]] = []

    @property
    def failures(self) -> int:
        return sum(not holds for _, holds in self.checks)

    def open(self, text: str) -> None:
        self._print(Text(text))

    def scene(self, title: str) -> None:
        self._scenes += 1
        self._print(Text(f"\n{self._scenes}. {title}\n", "bold cyan"))

    def say(self, who: str, text: str) -> None:
        style = "bold green" if who == "Ada" else "bold blue"
        self._print(Text.assemble((f"{who}: ", style), text), indent=3)

    def note(self, text: str, detail: str = "") -> None:
        self._print(Text.assemble(text, (f"  {detail}" if detail else "", "dim")), indent=3)

    def quote(self, text: str) -> None:
        """A longer text, as it is."""
        self._console.print()
        for line in text.splitlines():
            self._print(Text(f"| {line}", "dim"), indent=3)
        self._console.print()

    def check(self, sentence: str, holds: bool) -> None:
        self.checks.append((sentence, holds))
        mark = (_ALL_RIGHT, "bold green") if holds else (_NOT_SO, "bold red")
        self._print(Text.assemble(mark, " ", sentence), indent=3)

    def _print(self, text: Text, indent: int = 0) -> None:
        # Words of the story are shown as they are, never read as markup.
        self._console.print(Padding(text, (0, 0, 0, indent), expand=False))
