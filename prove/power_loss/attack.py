"""Takes the power away at every point of a recording, in every way, and notes what did not hold."""

from __future__ import annotations

import copy
import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from prove.power_loss import checking
from prove.power_loss.checking import Owed, laid_out, state_of
from prove.power_loss.disk import DRAWN, FATES, KEPT, Disk, Image
from prove.power_loss.reading import Recording
from prove.power_loss.steps import Step, Sync, Told, Write

AS_TOLD = "with nothing lost, the public interface says what the program had told, and no operation is seen half done"
UNDAMAGED = "no file is damaged: integrity_check and foreign_key_check find nothing"
TOLD_IS_THERE = "every operation that had returned is there, and any later one wholly or not at all"
MIRRORED = "JSONL files have every line that was promised, and nothing of a user who was erased"
ARCHIVED = "an export that had returned is whole, and one that had not is whole, missing or refused"
GOES_ON = "an ordinary engine opens it and goes on: writes, recall, jobs, a rebuild of the JSONL files"
CLAIMS = (AS_TOLD, UNDAMAGED, TOLD_IS_THERE, MIRRORED, ARCHIVED, GOES_ON)

_AT_A_TIME = 100
_FRAME_HEAD = 24


@dataclass
class Point:
    """A moment at which the power may go: just before a sync, or just after a commit or something that was told."""

    step: int
    state: str = ""
    """What a disk that lost nothing would hold."""
    floor: int = 0
    """The point at which the last thing was told: nothing older than this may be found."""
    told: str | None = None
    owed: Owed = field(default_factory=Owed)


@dataclass
class Attack:
    """One recording, attacked again and again."""

    recording: Recording
    folder: Path
    promised: bool = True
    """Whether what was told has to last. Without `durability="full"` a state from before may be found."""
    lines_synced: bool = True
    with_engine: bool = True
    """Whether an engine is opened on what is left, and not only the files looked at."""
    points: list[Point] = field(default_factory=list)
    wrong: dict[str, list[str]] = field(default_factory=lambda: {claim: [] for claim in CLAIMS})
    """What did not hold, by what was claimed."""
    images: int = 0
    different: set[str] = field(default_factory=set)
    tried: Counter[str] = field(default_factory=Counter)

    def prepare(self) -> None:
        """Find out in which states the store was, and whether they are what the program had told."""
        owed, floor, before = Owed(), 0, checking.NOTHING
        for index, step, disk in self._moments():
            state, damage = self._state(disk.after_loss(KEPT, self.recording.folders, random.Random()))
            point, wrong = Point(index, state, floor), list[str]()
            if isinstance(step, Told):
                told = owed.hear(step.what)
                seen = {each.state for each in self.points[floor:]} | {before, state}
                if told["at_once"] and len(seen) > 2:
                    wrong.append(f"{told['name']} was seen in {len(seen) - 1} steps")
                floor, before = len(self.points), state
                point = Point(index, state, floor, told["name"])
                wrong += self._told_is_there(disk, owed) if self.with_engine else []
            point.owed = copy.deepcopy(owed)
            self.points.append(point)
            self._note(UNDAMAGED, point, "kept", damage)
            self._note(AS_TOLD, point, "kept", wrong)

    def _told_is_there(self, disk: Disk, owed: Owed) -> list[str]:
        with laid_out(disk.after_loss(KEPT, self.recording.folders, random.Random()), self.folder) as place:
            return checking.wrong_when_going_on(place, owed.world)

    def run(self, dice: random.Random, repeats: int, more: Callable[[], bool]) -> bool:
        """Try all fates at all points while there is time; True when all were tried."""
        drawn = [name for name in FATES if name not in DRAWN] + list(DRAWN) * repeats
        trials = [(number, fate) for number in range(len(self.points)) for fate in drawn]
        dice.shuffle(trials)
        while trials and more():
            chunk, trials = sorted(trials[:_AT_A_TIME]), trials[_AT_A_TIME:]
            self._try(chunk, dice, more)
        return not trials and more()

    def _try(self, trials: list[tuple[int, str]], dice: random.Random, more: Callable[[], bool]) -> None:
        waiting = iter(trials)
        number, fate = next(waiting)
        for at, (_, _, disk) in enumerate(self._moments()):
            while at == number:
                self._lose(disk, self.points[number], fate, dice)
                number, fate = next(waiting, (-1, ""))
            if number < 0 or not more():
                return

    def _lose(self, disk: Disk, point: Point, fate: str, dice: random.Random) -> None:
        image = disk.after_loss(FATES[fate], self.recording.folders, dice)
        self.images += 1
        self.tried[fate] += 1
        state, wrong = self._state(image)
        self._note(UNDAMAGED, point, fate, wrong)
        here = self.points.index(point)
        oldest = point.floor if self.promised else 0
        allowed = {each.state for each in self.points[oldest : here + 1]} | (
            {checking.NOTHING} if not oldest else set()
        )
        if state not in allowed:
            what = "is older than what was told" if state in {each.state for each in self.points} else "never was"
            self._note(TOLD_IS_THERE, point, fate, [f"a state that {what}"])
        digest = _digest(image)
        if digest not in self.different:
            self.different.add(digest)
            with laid_out(image, self.folder) as place:
                wrong = checking.wrong_with_mirror(place, point.owed, synced=self.lines_synced)
                self._note(MIRRORED, point, fate, wrong)
                self._note(ARCHIVED, point, fate, checking.wrong_with_archive(place, point.owed))
                if self.with_engine:
                    self._note(GOES_ON, point, fate, checking.wrong_when_going_on(place, None))

    def _state(self, image: Image) -> tuple[str, list[str]]:
        store = {path: content for path, content in image.items() if path.startswith("new")}
        with laid_out(store, self.folder) as place:
            return state_of(place)

    def _moments(self) -> Iterator[tuple[int, Step, Disk]]:
        """The disk at each point, the same one over and over."""
        disk = Disk()
        steps = self.recording.steps
        for index, step in enumerate(steps):
            if isinstance(step, Sync):
                yield index, step, disk
            disk.do(step)
            if isinstance(step, Told) or (index and _commits(steps[index - 1])):
                yield index, step, disk

    def _note(self, claim: str, point: Point, fate: str, wrong: list[str]) -> None:
        self.wrong[claim] += [f"step {point.step}, {fate}: {each}" for each in wrong]


def _commits(step: Step) -> bool:
    """Whether it is the head of the last page of a transaction in a WAL file; the page itself comes next."""
    return isinstance(step, Write) and len(step.content) == _FRAME_HEAD and any(step.content[4:8])


def _digest(image: Image) -> str:
    digest = hashlib.sha256()
    for path, content in sorted(image.items()):
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
