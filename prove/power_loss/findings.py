"""The claims about a loss of power, and the findings of the trials."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

AS_TOLD = "with nothing lost, the public interface says what the program had told, and no operation is seen half done"
UNDAMAGED = "no file is damaged: integrity_check and foreign_key_check find nothing"
TOLD_IS_THERE = "every operation that had returned is there, and any later one wholly or not at all"
MIRRORED = "JSONL files have every line that was promised, and nothing of a user who was erased"
ARCHIVED = "an export that had returned is whole, and one that had not is whole, missing or refused"
GOES_ON = "an ordinary engine opens it and goes on: writes, recall, jobs, a rebuild of the JSONL files"
CLAIMS = (AS_TOLD, UNDAMAGED, TOLD_IS_THERE, MIRRORED, ARCHIVED, GOES_ON)


@dataclass
class Findings:
    """The findings of some trials."""

    wrong: dict[str, list[str]] = field(default_factory=lambda: {claim: [] for claim in CLAIMS})
    """The contradictions to each claim."""
    tried: Counter[str] = field(default_factory=Counter)
    """The number of trials of each fate."""
    different: set[bytes] = field(default_factory=set)
    """Checksums of the disks, each once."""

    @property
    def images(self) -> int:
        return self.tried.total()

    def note(self, claim: str, step: int, fate: str, wrong: list[str]) -> None:
        self.wrong[claim] += [f"step {step}, {fate}: {each}" for each in wrong]

    def add(self, others: Findings) -> None:
        for claim, wrong in others.wrong.items():
            self.wrong[claim] += wrong
        self.tried += others.tried
        self.different |= others.different
