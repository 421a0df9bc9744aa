"""Loss of power at every point of a recording, in every way, with the claims that did not hold."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from harness.crew import Child, Line, start_processes
from prove.power_loss import recovery
from prove.power_loss.disk import DRAWN, FATES, KEPT, Disk
from prove.power_loss.findings import ARCHIVED, AS_TOLD, GOES_ON, MIRRORED, TOLD_IS_THERE, UNDAMAGED, Findings
from prove.power_loss.notes import FileRecording
from prove.power_loss.recovery import ImageInspector, Obligations, write_image
from prove.power_loss.steps import Announcement, Step, Sync, Write

_AT_A_TIME = 60
_FRAME_HEAD = 24


@dataclass
class Point:
    """A moment at which the power may go: just before a sync, or just after a commit or an announcement."""

    step: int
    state: str = ""
    """The state of a disk that lost nothing."""
    floor: int = 0
    """The point of the last announcement: no older state may be found."""
    told: str | None = None
    owed: Obligations = field(default_factory=Obligations)


class Trial(NamedTuple):
    point: int
    fate: str
    chance: float
    """The seed of this trial, so that its result does not depend on the process or the time."""


@dataclass
class PowerAttack:
    """One recording, attacked again and again."""

    recording: FileRecording
    folder: Path
    promised: bool = True
    """True if announced changes must last; without `durability="full"` an earlier state may be found."""
    lines_synced: bool = True
    with_engine: bool = True
    """True if an engine is opened on the disk, besides the check of its files."""
    blind: tuple[str, ...] = ()
    """Claims about files that were not recorded."""
    points: list[Point] = field(default_factory=list)
    found: Findings = field(default_factory=Findings)
    _looking: ImageInspector = field(init=False)

    def __post_init__(self) -> None:
        self._looking = ImageInspector(self.folder)

    def prepare(self) -> None:
        """Find the states of the store, and check them against the announcements of the program."""
        owed, floor, before = Obligations(), 0, recovery.NOTHING
        for index, step, disk in self._moments():
            state, damage = self._looking.state(disk.lose_power(KEPT, self.recording.folders, random.Random()))
            point, wrong = Point(index, state, floor), list[str]()
            if isinstance(step, Announcement):
                owed = copy.deepcopy(owed)
                announcement = owed.hear(step.what)
                seen = {each.state for each in self.points[floor:]} | {before, state}
                if announcement["at_once"] and len(seen) > 2:
                    wrong.append(f"{announcement['name']} was seen in {len(seen) - 1} steps")
                floor, before = len(self.points), state
                point = Point(index, state, floor, announcement["name"])
                wrong += self._check_acknowledged(disk, owed) if self.with_engine else []
            point.owed = owed
            self.points.append(point)
            self.found.note(UNDAMAGED, index, "kept", damage)
            self.found.note(AS_TOLD, index, "kept", wrong)

    def _check_acknowledged(self, disk: Disk, owed: Obligations) -> list[str]:
        with write_image(disk.lose_power(KEPT, self.recording.folders, random.Random()), self.folder) as place:
            return recovery.wrong_when_going_on(place, owed.world)

    def run(self, dice: random.Random, repeats: int, more: Callable[[], bool], processes: int = 1) -> bool:
        """Try all fates at all points while there is time; True when all were tried."""
        trials = self._trials(dice, repeats)
        with ExitStack() as stack:
            crew = stack.enter_context(start_processes(_help, [(self,)] * processes)) if processes > 1 else []
            while trials and more():
                count = _AT_A_TIME * processes
                chunk, trials = sorted(trials[:count]), trials[count:]
                for found in self._distribute(chunk, crew) if crew else [self.losses(chunk)]:
                    self.found.add(found)
        return not trials

    def _trials(self, dice: random.Random, repeats: int) -> list[Trial]:
        fates = [name for name in FATES if name not in DRAWN] + list(DRAWN) * repeats
        trials = [Trial(point, fate, dice.random()) for point in range(len(self.points)) for fate in fates]
        dice.shuffle(trials)
        # First the fate that surely shows a missing sync, at every point.
        return sorted(trials, key=lambda trial: trial.fate != "lost")

    def _distribute(self, trials: list[Trial], crew: list[Child]) -> Iterator[Findings]:
        # Neighbours stay together, since they often leave the same disks.
        each = -(-len(trials) // len(crew))
        for number, child in enumerate(crew):
            child.say(trials[number * each : (number + 1) * each])
        for child in crew:
            yield child.hear()

    def losses(self, trials: list[Trial]) -> Findings:
        """Make trials that are in the order of their points."""
        found = Findings()
        waiting = iter(trials)
        trial = next(waiting, None)
        for at, (_, _, disk) in enumerate(self._moments()):
            while trial is not None and at == trial.point:
                self._lose(disk, trial, found)
                trial = next(waiting, None)
            if trial is None:
                break
        return found

    def _lose(self, disk: Disk, trial: Trial, found: Findings) -> None:
        point, fate = self.points[trial.point], trial.fate
        image = disk.lose_power(FATES[fate], self.recording.folders, random.Random(trial.chance))
        found.tried[fate] += 1
        state, wrong = self._looking.state(image)
        found.note(UNDAMAGED, point.step, fate, wrong)
        oldest = point.floor if self.promised else 0
        allowed = {each.state for each in self.points[oldest : trial.point + 1]}
        if state not in allowed and not (state == recovery.NOTHING and not oldest):
            what = "is older than what was told" if state in {each.state for each in self.points} else "never was"
            found.note(TOLD_IS_THERE, point.step, fate, [f"a state that {what}"])
        # The obligations differ from point to point, even where the disks are equal.
        if MIRRORED not in self.blind:
            wrong = self._looking.wrong_with_mirror(image, point.owed, synced=self.lines_synced)
            found.note(MIRRORED, point.step, fate, wrong)
        if ARCHIVED not in self.blind:
            found.note(ARCHIVED, point.step, fate, self._looking.wrong_with_archive(image, point.owed))
        digest = recovery.digest(image)
        found.different.add(digest)
        if self.with_engine:
            found.note(GOES_ON, point.step, fate, self._looking.wrong_when_going_on(image, digest))

    def _moments(self) -> Iterator[tuple[int, Step, Disk]]:
        """Yield the disk at each point; it is always the same object."""
        disk = Disk()
        steps = self.recording.steps
        for index, step in enumerate(steps):
            if isinstance(step, Sync):
                yield index, step, disk
            disk.do(step)
            if isinstance(step, Announcement) or (index and _commits(steps[index - 1])):
                yield index, step, disk


def _help(line: Line, attack: PowerAttack) -> None:
    while True:
        line.say(attack.losses(line.hear()))


def _commits(step: Step) -> bool:
    """Return whether a step writes the head of the last page of a transaction in a WAL file; the page comes next."""
    return isinstance(step, Write) and len(step.content) == _FRAME_HEAD and any(step.content[4:8])
