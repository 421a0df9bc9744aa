"""Workload on a disk that fills up repeatedly, with checks of errors, of the data, and of the recovery."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import longmind
from prove.disk.small_disks import SmallDisk
from prove.mixed_work import MixedWork
from prove.world import World, differences

_MOST_OPERATIONS = 400
_MORE_FAILURES = 5
_TOOL_CODES = ("PLUGIN_UNAVAILABLE", "PLUGIN_TIMEOUT")
_CHANGED = ("job", "conversation", "messages", "block", "atom")
"""Kinds of data that are written more than once."""


@dataclass
class FullDiskOutcome:
    """The outcome of a workload: what was done, what failed, and what was wrong."""

    done: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    unclear: list[str] = field(default_factory=list)
    """Errors that are not the ones expected, or do not say what to do."""
    changed: list[str] = field(default_factory=list)
    """Data that differs from what was acknowledged, while the disk was full or afterwards."""
    stuck: list[str] = field(default_factory=list)
    """Failures after there was room again."""

    @property
    def failures(self) -> int:
        return sum(self.errors.values())


class Break:
    """The moment in which a disk goes read-only.

    Linux, which gives the file system up then, may answer a sync that is under way with success, though nothing was
    synced: what is done at that moment is in doubt, whatever was said of it.
    """

    def __init__(self, room: SmallDisk) -> None:
        self._room = room
        self.begun = self.over = False

    def strike(self) -> None:
        self.begun = True
        self._room.break_off()
        self.over = True


class FullDiskWork:
    """A mixed workload on one engine, which goes on with it through every trouble."""

    def __init__(
        self, engine: longmind.Engine, dice: random.Random, length: int = 1900, outcome: FullDiskOutcome | None = None
    ) -> None:
        self.engine = engine
        self.work = MixedWork(engine, dice, length=length)
        self.world: World = {}
        self.outcome = outcome or FullDiskOutcome()
        self._break: Break | None = None

    def work_until_failure(self, expected: tuple[type[longmind.LongmindError], ...]) -> bool:
        """Work until some operations have failed one after another; False when none did."""
        failed = 0
        for _ in range(_MOST_OPERATIONS):
            if not self._one(expected):
                failed += 1
                if failed == _MORE_FAILURES:
                    return True
        return failed > 0

    @contextmanager
    def break_during(self, room: SmallDisk, seconds: float) -> Iterator[None]:
        """Turn the disk read-only after some seconds, in the middle of an operation, while the block runs."""
        self._break = Break(room)
        timer = threading.Timer(seconds, self._break.strike)
        timer.start()
        try:
            yield
        finally:
            timer.join()
            self._break = None

    def look(self, when: str, *, can_write: bool = True) -> None:
        """Compare the store with what was acknowledged."""
        # A call of a tool is audited, so that even one that only reads has to write.
        asked = {question: each for question, each in self.world.items() if can_write or " entry " not in question}
        self.outcome.changed += [f"{when}: {each}" for each in differences(self.engine, asked)]

    def go_on(self, operations: int = 8) -> None:
        """Work on with the same engine, which must succeed."""
        before = self.outcome.failures
        for _ in range(operations):
            self._one(())
        if self.outcome.failures > before:
            self.outcome.stuck.append(f"{self.outcome.failures - before} operations failed though there was room")

    def _one(self, expected: tuple[type[longmind.LongmindError], ...]) -> bool:
        was_over = self._break is not None and self._break.over
        try:
            done = self.work.do()
        except longmind.LongmindError as error:
            self.outcome.errors[type(error).__name__] += 1
            unavailable = isinstance(error, longmind.ToolError) and error.code in _TOOL_CODES
            if not (isinstance(error, expected) or (expected and unavailable)) or not error.message or not error.hint:
                self.outcome.unclear.append(f"{type(error).__name__}: {error}")
            if isinstance(error, longmind.OutcomeUnknown) or getattr(error, "code", "") == "PLUGIN_TIMEOUT":
                self._doubt()
            # Jobs that were under way may be at any stage.
            self._forget("job")
            return False
        if self._break is not None and self._break.begun and not was_over:
            self._doubt()
        else:
            self.world |= done.world
        self.outcome.done += 1
        return True

    def _doubt(self) -> None:
        """Stop checking everything that an operation with an unknown outcome may have changed."""
        self.work.doubt()
        self._forget(*_CHANGED)

    def _forget(self, *kinds: str) -> None:
        self.world = {
            question: answer for question, answer in self.world.items() if question.split(" ")[1] not in kinds
        }
