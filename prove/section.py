"""What every section of the proof is made of: checks that hold or do not, figures, and an end to its time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ENGINES = ("sqlite", "postgresql")


@dataclass(frozen=True)
class Check:
    """One claim that was put to the test. `figures` are what was counted or measured on the way."""

    claim: str
    passed: bool
    figures: dict[str, Any] = field(default_factory=dict)
    detail: str = ""
    """What was seen instead, when the claim did not hold; or why it could not be tried."""
    skipped: bool = False
    """It could not be tried on this machine. It counts neither as passed nor as failed, and the report says so."""
    measured: bool = False
    """Nothing is claimed and nothing can fail: the figures are told as they are."""


def skip_check(claim: str, why: str) -> Check:
    return Check(claim, passed=False, detail=why, skipped=True)


def report_figures(what: str, figures: dict[str, Any]) -> Check:
    """Figures that are told beside the claims."""
    return Check(what, passed=True, figures=figures, measured=True)


def judge_claim(claim: str, tried: int, wrong: Sequence[str], figures: dict[str, Any] | None = None) -> Check:
    """A claim that holds when something was tried and nothing is wrong. Where nothing was tried, nothing is shown."""
    if not tried and not wrong:
        return skip_check(claim, "nothing was tried, since the time was over before")
    return Check(claim, not wrong, figures or {}, "; ".join(wrong[:10]))


@dataclass(frozen=True)
class Plan:
    """How a section is to be run."""

    seconds: float
    """About how long it may take. A section that counts something stops at its count or at this, and says which."""
    seed: int
    engines: tuple[str, ...]
    folder: Path
    """An empty folder that is removed afterwards."""
    full: bool = False
    """Whether the counts that are claimed have to be reached, however long that takes."""
    without: tuple[str, ...] = ()
    """Programs that are not to be used, though they may be installed."""
    began: float = field(default_factory=time.monotonic)

    def seconds_left(self) -> float:
        """The seconds that are left; without end when the counts have to be reached."""
        return float("inf") if self.full else self.began + self.seconds - time.monotonic()

    def dice(self, name: str) -> random.Random:
        """Random numbers of its own for each part, so that one part's draws do not shift another's."""
        return random.Random(f"{self.seed} {name}")


@dataclass(frozen=True)
class Section:
    """A part of the proof that can be run by itself."""

    name: str
    title: str
    seconds: float
    """What a plain run takes at most, about."""
    run: Callable[[Plan], Iterator[Check]]
