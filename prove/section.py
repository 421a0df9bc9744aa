"""The parts of every section of the proof: checks with verdicts and figures, and a plan with a time limit."""

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
    """One claim that was tested, with the `figures` that were counted or measured."""

    claim: str
    passed: bool
    figures: dict[str, Any] = field(default_factory=dict)
    detail: str = ""
    """The evidence against the claim, or the reason why it could not be tried."""
    skipped: bool = False
    """True if it could not be tried on this machine; it counts neither as passed nor as failed."""
    measured: bool = False
    """True if nothing is claimed and the figures are reported as they are."""


def skip_check(claim: str, why: str) -> Check:
    return Check(claim, passed=False, detail=why, skipped=True)


def report_figures(what: str, figures: dict[str, Any]) -> Check:
    """Return a check that reports figures and claims nothing."""
    return Check(what, passed=True, figures=figures, measured=True)


def judge_claim(claim: str, tried: int, wrong: Sequence[str], figures: dict[str, Any] | None = None) -> Check:
    """Return a claim that holds if something was tried and nothing is wrong; skip it if nothing was tried."""
    if not tried and not wrong:
        return skip_check(claim, "nothing was tried, since the time was over before")
    return Check(claim, not wrong, figures or {}, "; ".join(wrong[:10]))


@dataclass(frozen=True)
class Plan:
    """The conditions of a run: its time, seed, engines and folder."""

    seconds: float
    """The approximate limit of time. A section with a count stops at the count or at this limit, and says which."""
    seed: int
    engines: tuple[str, ...]
    folder: Path
    """An empty folder that is removed afterwards."""
    full: bool = False
    """True if the claimed counts have to be reached, however long that takes."""
    without: tuple[str, ...] = ()
    """Programs that must not be used even if they are installed."""
    began: float = field(default_factory=time.monotonic)

    def seconds_left(self) -> float:
        """Return the seconds that are left; infinite when the counts have to be reached."""
        return float("inf") if self.full else self.began + self.seconds - time.monotonic()

    def dice(self, name: str) -> random.Random:
        """Return separate random numbers for each part, so that one part's draws do not shift another's."""
        return random.Random(f"{self.seed} {name}")


@dataclass(frozen=True)
class Section:
    """A part of the proof that can be run by itself."""

    name: str
    title: str
    seconds: float
    """The approximate seconds of a plain run at most."""
    run: Callable[[Plan], Iterator[Check]]
