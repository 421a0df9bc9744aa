"""Power loss: a recorded workload on SQLite, and every disk that a loss of power in its course could leave.

A layer that drops unsynced writes would be needed. LazyFS has to be compiled and mounted, and SQLite's own layer exists
in its test builds alone. So the writes and syncs of a program are recorded, and the disks are made from the recording.
strace sees every system call; where it is missing, a layer under SQLite sees the store, but neither JSONL files nor
exports. Where strace exists, both record the same run once and must agree.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from prove.power_loss.attack import PowerAttack
from prove.power_loss.disk import KEPT, Disk
from prove.power_loss.findings import ARCHIVED, AS_TOLD, CLAIMS, MIRRORED, TOLD_IS_THERE
from prove.power_loss.layer import find_layer_obstacle
from prove.power_loss.notes import TOLD, FileRecording
from prove.power_loss.recorder_comparison import disagreement, store_steps
from prove.power_loss.recorders import find_strace_obstacle, record, record_below_sqlite, record_in_both_ways
from prove.power_loss.steps import Sync
from prove.power_loss.workload import DATABASE
from prove.section import Check, Plan, Section, skip_check

WORKLOAD = "prove.power_loss.workload"
STORE = str(Path(DATABASE).parent)
NEW_FOLDERS = "new folders on the way to the store last"
_MEMORY = Path("/dev/shm")
_OPERATIONS, _OPERATIONS_IN_FULL = 36, 120
_REPEATS, _REPEATS_IN_FULL = 1, 4
"""Draws of each random fate."""


class Mode(NamedTuple):
    durability: str
    fsync: str
    share: float
    """Of the time."""


class Recorder(NamedTuple):
    name: str
    record: Callable[..., FileRecording]
    modes: tuple[Mode, ...]
    sees: str = ""
    """The only folder whose files it sees; empty for all files."""
    blind: tuple[str, ...] = ()
    """Claims about files that it does not see."""


STRACE = Recorder(
    "strace",
    record,
    (Mode("full", "always", 0.6), Mode("full", "interval", 0.2), Mode("normal", "never", 0.2)),
)
LAYER = Recorder(
    "a layer under SQLite",
    record_below_sqlite,
    (Mode("full", "always", 0.7), Mode("normal", "never", 0.3)),
    sees=STORE,
    blind=(MIRRORED, ARCHIVED),
)


def run(plan: Plan) -> Iterator[Check]:
    if "sqlite" not in plan.engines:
        yield skip_check(TOLD_IS_THERE, "only SQLite's files are ours to lose; PostgreSQL has its own proofs of this")
        return
    no_strace = "strace is not to be used" if "strace" in plan.without else find_strace_obstacle()
    no_layer = find_layer_obstacle()
    if no_strace and no_layer:
        yield skip_check(TOLD_IS_THERE, f"{no_strace}, and {no_layer}")
        return
    recorder = LAYER if no_strace else STRACE
    # Thousands of stores are created and removed; memory is much faster for that, and no real disk is needed.
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else plan.folder) as place:
        if no_strace:
            for claim in (*LAYER.blind, NEW_FOLDERS):
                yield skip_check(claim, f"{no_strace}, and {LAYER.name} sees SQLite alone")
        elif not no_layer:
            yield _agreement(plan, Path(place))
        until = 0.0
        for mode in recorder.modes:
            until += mode.share
            yield from _run(plan, Path(place), recorder, mode, plan.seconds * (1 - until))


def _agreement(plan: Plan, place: Path) -> Check:
    folder = place / "both"
    folder.mkdir()
    mode = STRACE.modes[0]
    by_strace, by_layer = (
        store_steps(recording, STORE) for recording in record_in_both_ways(WORKLOAD, folder, *_arguments(plan, mode))
    )
    wrong = disagreement(by_strace, by_layer)
    return Check(
        f"strace and {LAYER.name} see the same done to the store in the same run",
        passed=wrong is None,
        figures={"steps": len(by_strace), "syncs": sum(what == ["sync"] for _, *what in by_strace)},
        detail=wrong or "",
    )


def _arguments(plan: Plan, mode: Mode) -> tuple[str, ...]:
    return str(plan.seed), str(_operations(plan)), mode.durability, mode.fsync


def _operations(plan: Plan) -> int:
    return _OPERATIONS_IN_FULL if plan.full else _OPERATIONS


def _run(plan: Plan, place: Path, recorder: Recorder, mode: Mode, rest: float) -> Iterator[Check]:
    name = f"durability={mode.durability}" + ("" if recorder.sees else f", events_jsonl_fsync={mode.fsync}")
    if plan.seconds_left() < rest:
        yield skip_check(f"{name}: {TOLD_IS_THERE}", "the time was over before")
        return
    folder = place / f"{mode.durability}-{mode.fsync}"
    folder.mkdir()
    recording = recorder.record(WORKLOAD, folder, *_arguments(plan, mode))
    syncs = sum(isinstance(step, Sync) for step in recording.steps)
    figures = {"operations": _operations(plan), "steps": len(recording.steps), "sync points": syncs}
    yield Check(
        f"{name}: the recorded steps, replayed, give the very files of the program",
        passed=not (wrong := differences(recording, folder, recorder.sees)),
        figures={"recorded by": recorder.name, **figures},
        detail=", ".join(wrong[:5]),
    )
    attack = PowerAttack(recording, place, mode.durability == "full", mode.fsync == "always", blind=recorder.blind)
    attack.prepare()
    repeats = _REPEATS_IN_FULL if plan.full else _REPEATS
    complete = attack.run(plan.dice(name), repeats, lambda: plan.seconds_left() > rest, os.cpu_count() or 1)
    found = attack.found
    yield Check(
        f"{name}: what was unsynced at a point of loss had each of these fates",
        passed=complete or not plan.full,
        figures={"points": len(attack.points), "every one in every way": complete, **found.tried},
        detail="the time was over before" if not complete else "",
    )
    figures = {"disks": found.images, "different": len(found.different)}
    for claim in (each for each in CLAIMS if each not in recorder.blind):
        stated = claim if mode.durability == "full" or claim != TOLD_IS_THERE else "one of the earlier states is there"
        wrong = found.wrong[claim]
        if not wrong and not found.images and claim != AS_TOLD:
            yield skip_check(f"{name}: {stated}", "the time was over before the first loss")
        else:
            yield Check(f"{name}: {stated}", passed=not wrong, figures=figures, detail="; ".join(wrong[:5]))


def differences(recording: FileRecording, folder: Path, part: str = "") -> list[str]:
    """Return the files, in the folder or a part of it, that differ from a replay of all recorded steps."""
    disk = Disk()
    for step in recording.steps:
        disk.do(step)
    replayed = disk.lose_power(KEPT, recording.folders, random.Random())
    real = {
        f"{path.relative_to(folder)}{'/' if path.is_dir() else ''}": b"" if path.is_dir() else path.read_bytes()
        for path in folder.rglob("*")
        if path.name != TOLD
    }
    names = (name for name in real.keys() | replayed.keys() if name.startswith(part))
    return sorted(name for name in names if real.get(name) != replayed.get(name))


SECTION = Section(name="power_loss", title="Power loss", seconds=120, run=run)
