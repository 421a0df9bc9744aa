"""Power loss: a recorded workload on SQLite, and every disk that could be left if the power had gone in its course.

A layer that drops unsynced writes is needed for this. LazyFS would be one, and has to be compiled and mounted; SQLite's
own is in its test builds alone; a layer written with apsw would not see the names of folders, JSONL files and exports.
So strace records what the kernel was asked for, and the disks are made from the recording.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from prove.power_loss.attack import Attack
from prove.power_loss.disk import KEPT, Disk
from prove.power_loss.findings import CLAIMS, TOLD_IS_THERE
from prove.power_loss.reading import Recording
from prove.power_loss.recording import record, why_not
from prove.power_loss.steps import Sync
from prove.section import Check, Plan, Section, skipped

WORKLOAD = "prove.power_loss.workload"
_MEMORY = Path("/dev/shm")
_OPERATIONS, _OPERATIONS_IN_FULL = 36, 120
_REPEATS, _REPEATS_IN_FULL = 1, 4
"""How often those fates are drawn that come out otherwise each time."""


class Mode(NamedTuple):
    durability: str
    fsync: str
    share: float
    """Of the time."""


MODES = (Mode("full", "always", 0.6), Mode("full", "interval", 0.2), Mode("normal", "never", 0.2))


def run(plan: Plan) -> Iterator[Check]:
    if "sqlite" not in plan.engines:
        yield skipped(TOLD_IS_THERE, "only SQLite's files are ours to lose; PostgreSQL has its own proofs of this")
        return
    if (why := why_not()) is not None:
        yield skipped(TOLD_IS_THERE, why)
        return
    # Thousands of stores are made and removed; in memory that is much faster, and it is no real disk that is at stake.
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else plan.folder) as place:
        until = 0.0
        for mode in MODES:
            until += mode.share
            yield from _run(plan, Path(place), mode, plan.seconds * (1 - until))


def _run(plan: Plan, place: Path, mode: Mode, rest: float) -> Iterator[Check]:
    name = f"durability={mode.durability}, events_jsonl_fsync={mode.fsync}"
    folder = place / f"{mode.durability}-{mode.fsync}"
    folder.mkdir()
    operations = _OPERATIONS_IN_FULL if plan.full else _OPERATIONS
    recording = record(WORKLOAD, folder, str(plan.seed), str(operations), mode.durability, mode.fsync)
    syncs = sum(isinstance(step, Sync) for step in recording.steps)
    yield Check(
        f"{name}: the recorded steps, replayed, give the very files of the program",
        passed=not (wrong := differences(recording, folder)),
        figures={"operations": operations, "steps": len(recording.steps), "sync points": syncs},
        detail=", ".join(wrong[:5]),
    )
    attack = Attack(recording, place, mode.durability == "full", mode.fsync == "always")
    attack.prepare()
    repeats = _REPEATS_IN_FULL if plan.full else _REPEATS
    complete = attack.run(plan.dice(name), repeats, lambda: plan.left() > rest, os.cpu_count() or 1)
    found = attack.found
    yield Check(
        f"{name}: what was unsynced at a point of loss had each of these fates",
        passed=complete or not plan.full,
        figures={"points": len(attack.points), "every one in every way": complete, **found.tried},
        detail="the time was over before" if not complete else "",
    )
    figures = {"disks": found.images, "different": len(found.different)}
    for claim in CLAIMS:
        told = claim if mode.durability == "full" or claim != TOLD_IS_THERE else "one of the earlier states is there"
        wrong = found.wrong[claim]
        yield Check(f"{name}: {told}", passed=not wrong, figures=figures, detail="; ".join(wrong[:5]))


def differences(recording: Recording, folder: Path) -> list[str]:
    """The files that a disk which lost nothing would have otherwise than they are."""
    disk = Disk()
    for step in recording.steps:
        disk.do(step)
    replayed = disk.after_loss(KEPT, recording.folders, random.Random())
    real = {
        f"{path.relative_to(folder)}{'/' if path.is_dir() else ''}": b"" if path.is_dir() else path.read_bytes()
        for path in folder.rglob("*")
        if path.name != "told"
    }
    return sorted(name for name in real.keys() | replayed.keys() if real.get(name) != replayed.get(name))


SECTION = Section(name="power_loss", title="Power loss", seconds=120, run=run)
