"""The proof about power loss: it holds, and each of its checks catches a bug that was planted."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from prove.power_loss import LAYER, NEW_FOLDERS, STORE, STRACE, WORKLOAD, Recorder, differences, run
from prove.power_loss.attack import PowerAttack
from prove.power_loss.disk import FATES, Disk
from prove.power_loss.findings import ARCHIVED, AS_TOLD, MIRRORED, TOLD_IS_THERE, UNDAMAGED
from prove.power_loss.notes import CannotRecord, FileRecording
from prove.power_loss.recorder_comparison import Seen, disagreement, store_steps
from prove.power_loss.recorders import find_strace_obstacle, record, record_below_sqlite, record_in_both_ways
from prove.power_loss.recovery import ImageInspector, Obligations
from prove.power_loss.steps import ROOT, Announcement, Rename, Step, Sync, Truncate, Write
from prove.power_loss.strace_log import read_trace
from prove.power_loss.workload import DATABASE
from prove.section import ENGINES, Plan

DICE = random.Random(7)
FILE, FOLDER = 1, 2


def left(disk: Disk, fate: str, folders: frozenset[int] = frozenset({ROOT, FOLDER})) -> dict[str, bytes]:
    return disk.lose_power(FATES[fate], folders, DICE)


def after(*steps: Step) -> Disk:
    disk = Disk()
    for step in steps:
        disk.do(step)
    return disk


MADE = Rename(((ROOT, "file", FILE),))


# --- the disk --------------------------------------------------------------------------------


def test_what_was_not_synced_is_lost_and_what_was_synced_is_not() -> None:
    disk = after(MADE, Write(FILE, 0, b"old"), Sync(FILE), Sync(ROOT), Write(FILE, 0, b"new"), Truncate(FILE, 2))
    assert left(disk, "lost") == {"file": b"old"}
    assert left(disk, "kept") == {"file": b"ne"}


def test_a_file_that_was_synced_is_lost_with_a_name_that_was_not() -> None:
    assert left(after(MADE, Write(FILE, 0, b"text"), Sync(FILE)), "lost") == {}
    assert left(after(MADE, Write(FILE, 0, b"text"), Sync(ROOT)), "lost") == {"file": b""}


def test_a_file_in_a_new_folder_is_lost_with_the_folder() -> None:
    steps: list[Step] = [Rename(((ROOT, "new", FOLDER),)), Rename(((FOLDER, "file", FILE),)), Sync(FILE), Sync(FOLDER)]
    assert left(after(*steps), "lost") == {}
    assert left(after(*steps, Sync(ROOT)), "lost") == {"new/": b"", "new/file": b""}


def test_a_removed_file_is_back_when_its_folder_was_not_synced() -> None:
    gone = Rename(((ROOT, "file", None),))
    disk = after(MADE, Write(FILE, 0, b"text"), Sync(FILE), Sync(ROOT), gone)
    assert left(disk, "lost") == {"file": b"text"}
    disk.do(Sync(ROOT))
    assert left(disk, "lost") == {}


def test_a_write_is_torn_at_sectors_and_later_writes_may_come_without_earlier_ones() -> None:
    pages = [Write(FILE, 0, b"a" * 1024), Write(FILE, 1024, b"b" * 1024)]
    disk = after(MADE, Sync(FILE), Sync(ROOT), *pages)
    torn = {left(disk, "torn")["file"] for _ in range(200)}
    assert all(set(content[at : at + 512]) <= {content[at]} for content in torn for at in range(0, len(content), 512))
    assert bytes(512) + b"a" * 512 in torn
    assert bytes(1024) + b"b" * 1024 in {left(disk, "reordered")["file"] for _ in range(200)}


def test_a_trace_is_read_with_calls_in_two_halves_and_positions_that_were_sought() -> None:
    def hexed(text: str) -> str:
        return '"' + "".join(f"\\x{byte:02x}" for byte in text.encode()) + '"'

    lines = [
        f"7 openat(AT_FDCWD, {hexed('/elsewhere')}, O_RDWR) = 3",
        "7 close(3) = 0",
        f"7 openat(AT_FDCWD, {hexed('/place/file')}, O_RDWR|O_CREAT, 0600) = 3",
        f"7 write(3, {hexed('abcdef')}, 6) = 6",
        "8 fdatasync(3 <unfinished ...>",
        "7 lseek(3, 2, SEEK_SET) = 2",
        f"7 write(3, {hexed('X')}, 1) = 1",
        "8 <... fdatasync resumed>) = 0",
        f"7 openat(AT_FDCWD, {hexed('/place/told')}, O_WRONLY|O_CREAT|O_APPEND, 0600) = 4",
        f"7 write(4, {hexed('done')}, 4) = 4",
        f"7 unlink({hexed('/place/missing')}) = -1 ENOENT (No such file or directory)",
        f"7 unlink({hexed('/place/file')}) = 0",
    ]
    written = [Write(FILE, 0, b"abcdef"), Write(FILE, 2, b"X"), Sync(FILE)]
    expected = [MADE, *written, Announcement("done"), Rename(((ROOT, "file", None),))]
    assert read_trace(lines, "/place").steps == expected


# --- the proof itself ------------------------------------------------------------------------


def needs_strace() -> None:
    if (why := find_strace_obstacle()) is not None:
        pytest.skip(why)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("power")


@pytest.fixture(scope="module")
def recording(folder: Path) -> FileRecording:
    needs_strace()
    (folder / "recorded").mkdir()
    return record(WORKLOAD, folder / "recorded", "3", "9", "full", "always")


def attacked(
    recording: FileRecording,
    folder: Path,
    images: int,
    *,
    with_engine: bool = False,
    processes: int = 1,
    blind: tuple[str, ...] = (),
) -> dict[str, list[str]]:
    attack = PowerAttack(recording, folder, with_engine=with_engine, blind=blind)
    attack.prepare()
    attack.run(random.Random(5), 1, lambda: attack.found.images < images, processes)
    assert attack.found.images >= images
    return {claim: sorted(wrong) for claim, wrong in attack.found.wrong.items()}


def without(recording: FileRecording, unwanted: Callable[[Step], bool]) -> FileRecording:
    return FileRecording([step for step in recording.steps if not unwanted(step)], recording.folders)


def number_of(recording: FileRecording, name: str) -> int:
    """The file that has a name like this, the first of them."""
    named = (change for step in recording.steps if isinstance(step, Rename) for change in step.changes)
    return next(number for _, each, number in named if number is not None and each.endswith(name))


def test_a_short_attack_finds_nothing_wrong(recording: FileRecording, folder: Path) -> None:
    assert differences(recording, folder / "recorded") == []
    assert {
        claim: wrong[:3] for claim, wrong in attacked(recording, folder, 25, with_engine=True).items() if wrong
    } == {}


def test_a_store_that_does_not_sync_its_writes_is_caught(recording: FileRecording, folder: Path) -> None:
    def is_sync(step: Step) -> bool:
        return isinstance(step, Sync) and step.file not in recording.folders

    # The points of loss are told and commits now; at each of them everything may be missing.
    wrong = attacked(without(recording, is_sync), folder, 100)
    assert any("older than what was told" in each for each in wrong[TOLD_IS_THERE])
    assert any("lines are missing" in each for each in wrong[MIRRORED])


def test_several_processes_find_what_one_does(recording: FileRecording, folder: Path) -> None:
    planted = without(recording, lambda step: isinstance(step, Sync))
    alone, together = (attacked(planted, folder, 120, processes=processes) for processes in (1, 2))
    assert together == alone
    assert together[TOLD_IS_THERE]


def test_the_same_disk_is_held_against_what_is_owed_when_the_power_goes(tmp_path: Path) -> None:
    looking = ImageInspector(tmp_path)
    assert looking.wrong_with_mirror({}, Obligations(), synced=True) == []
    assert looking.wrong_with_mirror({}, Obligations(lines={"evt_1"}), synced=True) != []
    assert looking.wrong_with_archive({}, Obligations()) == []
    assert looking.wrong_with_archive({}, Obligations(archive=True)) != []


def test_a_store_that_does_not_sync_the_names_of_its_folders_is_caught(recording: FileRecording, folder: Path) -> None:
    wrong = attacked(without(recording, lambda step: step == Sync(ROOT)), folder, 30)
    assert any("older than what was told" in each for each in wrong[TOLD_IS_THERE])


def test_an_archive_that_is_not_synced_is_caught(recording: FileRecording, folder: Path) -> None:
    archive = number_of(recording, "export.zip")
    wrong = attacked(without(recording, lambda step: step == Sync(archive)), folder, 100)
    assert any("not whole" in each for each in wrong[ARCHIVED])


def test_writes_that_never_came_are_caught(recording: FileRecording, folder: Path) -> None:
    store = number_of(recording, "memory.db")
    pages = [step for step in recording.steps if isinstance(step, Write) and step.file == store]
    never_came = {id(page) for page in pages[1::2]}
    # As if the disk had said that it has written pages of the store, and had not.
    wrong = attacked(without(recording, lambda step: id(step) in never_came), folder, 5)
    assert wrong[UNDAMAGED]


def test_an_operation_that_is_done_in_two_transactions_is_caught(recording: FileRecording, folder: Path) -> None:
    steps = list(recording.steps)
    # Nothing is told between two operations, so that both are taken for one.
    told = [
        index for index, step in enumerate(steps) if isinstance(step, Announcement) and '"at_once": true' in step.what
    ]
    del steps[told[2]]
    wrong = attacked(FileRecording(steps, recording.folders), folder, 1)
    assert any("was seen in" in each for each in wrong[AS_TOLD])


# --- two who record --------------------------------------------------------------------------


def test_a_layer_under_sqlite_sees_what_strace_sees(tmp_path: Path) -> None:
    needs_strace()
    by_strace, by_layer = record_in_both_ways(WORKLOAD, tmp_path, "3", "9", "full", "always")
    seen = store_steps(by_strace, STORE)
    assert disagreement(seen, store_steps(by_layer, STORE)) is None
    assert differences(by_strace, tmp_path) == []
    assert differences(by_layer, tmp_path, STORE) == []
    # A checkpoint in the middle of the work, after which the WAL file is begun anew over its old pages.
    begun = [index for index, step in enumerate(seen) if step[:3] == (f"/{DATABASE}-wal", "write", 0)]
    removed = [index for index, step in enumerate(seen) if step == (f"/{DATABASE}-wal", "no name")]
    assert len(begun) > len(removed)
    assert (f"/{DATABASE}", "sync") in seen[begun[0] : removed[0]]


def lacks_a_sync(seen: list[Seen]) -> list[Seen]:
    at = seen.index((f"/{DATABASE}-wal", "sync"))
    return seen[:at] + seen[at + 1 :]


def lacks_the_last(seen: list[Seen]) -> list[Seen]:
    return seen[:-1]


def has_other_bytes(seen: list[Seen]) -> list[Seen]:
    at = next(index for index, step in enumerate(seen) if step[1] == "write")
    return [*seen[:at], (*seen[at][:-1], bytes(len(seen[at][-1]) - 1) + b"?"), *seen[at + 1 :]]


@pytest.mark.parametrize("planted", [lacks_a_sync, lacks_the_last, has_other_bytes])
def test_two_who_have_not_seen_the_same_are_caught(
    below_sqlite: FileRecording, planted: Callable[[list[Seen]], list[Seen]]
) -> None:
    seen = store_steps(below_sqlite, STORE)
    assert disagreement(seen, list(seen)) is None
    assert disagreement(seen, planted(seen)) is not None
    assert disagreement(planted(seen), seen) is not None


@pytest.fixture(scope="module")
def below_sqlite(folder: Path) -> FileRecording:
    (folder / "below").mkdir()
    return record_below_sqlite(WORKLOAD, folder / "below", "3", "9", "full", "always")


def test_a_short_attack_on_what_a_layer_recorded_finds_nothing_wrong(below_sqlite: FileRecording, folder: Path) -> None:
    assert differences(below_sqlite, folder / "below", STORE) == []
    wrong = attacked(below_sqlite, folder, 120, blind=LAYER.blind)
    assert {claim: each[:3] for claim, each in wrong.items() if each} == {}


@pytest.mark.parametrize("recorder", [STRACE, LAYER], ids=["strace", "layer"])
@pytest.mark.parametrize("forgotten", ["every sync", "the sync of a checkpoint"])
def test_a_sqlite_that_forgets_to_sync_is_caught_whoever_records_it(
    tmp_path: Path, recorder: Recorder, forgotten: str
) -> None:
    if recorder is STRACE:
        needs_strace()
    (tmp_path / "recorded").mkdir()
    planted = recorder.record("tests.prove.lossy_sqlite", tmp_path / "recorded", forgotten, "3", "9", "full", "always")
    assert differences(planted, tmp_path / "recorded", recorder.sees) == []
    wrong = attacked(planted, tmp_path, 120, blind=recorder.blind)
    assert wrong[TOLD_IS_THERE]


def test_a_layer_does_not_record_a_store_that_was_there_before(tmp_path: Path) -> None:
    database = tmp_path / DATABASE
    database.parent.mkdir(parents=True)
    database.write_bytes(bytes(4096))
    with pytest.raises(CannotRecord, match="or before"):
        record_below_sqlite(WORKLOAD, tmp_path, "3", "3", "full", "always")


def test_without_strace_the_report_says_who_recorded_and_what_was_not_seen(tmp_path: Path) -> None:
    checks = list(run(Plan(seconds=0, seed=1, engines=ENGINES, folder=tmp_path, without=("strace",))))
    unseen = {check.claim: check.detail for check in checks if check.skipped}
    for claim in (MIRRORED, ARCHIVED, NEW_FOLDERS):
        assert "a layer under SQLite sees SQLite alone" in unseen[claim]


def test_what_is_recorded_ends_when_the_recording_is_ended(tmp_path: Path) -> None:
    needs_strace()
    (tmp_path / "recorded").mkdir()
    os.mkfifo(pipe := tmp_path / "pipe")
    recording = subprocess.Popen([sys.executable, "-m", "tests.prove.endless_program", tmp_path / "recorded", pipe])
    recorded = os.pidfd_open(int(pipe.read_text()))
    try:
        recording.terminate()
        assert recording.wait(60) == 0
        assert select.select([recorded], [], [], 60)[0] == [recorded]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["pipe", "recorded"]
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(recorded, signal.SIGKILL)
        os.close(recorded)
