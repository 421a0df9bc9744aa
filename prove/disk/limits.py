"""Limits of a process and rights of its user, in processes of their own: size of files, open files, folders."""

from __future__ import annotations

import os
import random
import resource
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import longmind
from harness.crew import Line, start_process
from longmind import LongmindError, StoreFull, StoreReadOnly, StoreUnavailable
from prove.disk.full_disk import FullDiskWork
from prove.section import Check, skip_check
from prove.world import ADA, context_of

_NOBODY = 65534

Said = dict[str, Any]


def limits(folder: Path) -> Iterator[Check]:
    url = f"sqlite:///{folder}/limits.db"
    for claim, work, arguments in (
        ("a file that may not grow, as with a quota: it says so, and works again when it may", _file_size, (url,)),
        ("no more files may be opened: it says so, and works again when they may", _open_files, (url,)),
    ):
        yield _run_limited(claim, work, *arguments)
    claim = "a folder that may not be written: it says so"
    if os.geteuid() == 0:
        shut = folder / "shut"
        longmind.open(f"sqlite:///{shut}/memory.db", embedder=None).close()
        shut.chmod(0o755)
        (shut / "memory.db").chmod(0o644)
        with passable(folder):
            yield _run_limited(claim, _open_without_rights, str(shut))
    else:
        yield skip_check(claim, "it takes root to become somebody else")


@contextmanager
def passable(folder: Path) -> Iterator[None]:
    """Let everybody pass through a folder and all above it, and leave them afterwards as they were."""
    closed = {each: each.stat().st_mode for each in (folder, *folder.parents) if not each.stat().st_mode & 0o001}
    try:
        for each, mode in closed.items():
            each.chmod(mode | 0o001)
        yield
    finally:
        for each, mode in closed.items():
            each.chmod(stat.S_IMODE(mode))


def _run_limited(claim: str, work: Any, *arguments: str) -> Check:
    with start_process(work, *arguments) as child:
        report: Said = child.result()
    wrong = report.pop("wrong")
    return Check(f"SQLite, {claim}", not wrong, report, "; ".join(wrong[:3]))


@contextmanager
def _limited(kind: int, soft: int) -> Iterator[None]:
    before, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (before, hard))


def _file_size(_: Line, url: str) -> Said:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with longmind.open(url, embedder=None) as engine:
        filling = FullDiskWork(engine, random.Random(1))
        filling.go_on()
        size = os.path.getsize(f"{url.removeprefix('sqlite:///')}-wal")
        with _limited(resource.RLIMIT_FSIZE, size + 30_000):
            failed = filling.work_until_failure((StoreFull,))
            filling.look("limited", can_write=False)
        filling.go_on()
        filling.look("afterwards")
    outcome = filling.outcome
    wrong = outcome.unclear + outcome.changed + outcome.stuck + ([] if failed else ["nothing failed"])
    return {**outcome.errors, "wrong": wrong}


def _open_files(_: Line, url: str) -> Said:
    with longmind.open(url, embedder=None) as engine:
        ada = context_of(engine, ADA)
        made = ada.conversations.create_conversation("chat")
        with _limited(resource.RLIMIT_NOFILE, _first_free()):
            wrong, clear = [], 0
            for each in (url, f"{url}.other"):
                try:
                    longmind.open(each, embedder=None).close()
                    wrong.append("it was opened though no file may be")
                except StoreUnavailable as error:
                    clear += "open files" in error.hint
                except LongmindError as error:
                    wrong.append(f"{type(error).__name__}: {error}")
        ada.conversations.append_user_message(made.id, "and on")
        longmind.open(url, embedder=None).close()
    return {"clear errors": clear, "wrong": wrong if clear == 2 else [*wrong, "an error does not speak of open files"]}


def _first_free() -> int:
    """Return the number of the next file descriptor; all below it are taken."""
    number = os.open(os.devnull, os.O_RDONLY)
    os.close(number)
    return number


def _open_without_rights(_: Line, folder: str) -> Said:
    os.setgroups([])
    os.setgid(_NOBODY)
    os.setuid(_NOBODY)
    wrong, clear = [], 0
    for name in ("memory.db", "new.db", "new/new.db"):
        try:
            longmind.open(f"sqlite:///{folder}/{name}", embedder=None).close()
            wrong.append(f"{name} could be opened")
        except (StoreReadOnly, StoreUnavailable) as error:
            wrong += [] if error.message and error.hint else [f"{name}: {error} has no hint"]
            clear += 1
    return {"clear errors": clear, "wrong": wrong}
