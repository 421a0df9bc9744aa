"""Records what a program does to the files below a folder: every write, sync and change of a name.

strace sees what the kernel was really asked for, whoever asked: SQLite, the JSONL files, an export, and the syncs of
folders. Where there is none a layer under SQLite sees what SQLite asked for, and nothing of the others.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from prove.power_loss.notes import CannotRecord, FileRecording
from prove.power_loss.recorded_program import NO_LAYER
from prove.power_loss.strace_log import UNKNOWN_CALLS, read_trace

_CALLS = (
    "openat,open,creat,close,lseek,write,pwrite64,ftruncate,truncate,fsync,fdatasync,unlink,unlinkat,rename,renameat,"
    "renameat2,link,linkat,mkdir,mkdirat,rmdir"
)
_LONGEST_WRITE = 16 * 1024 * 1024


def find_strace_obstacle() -> str | None:
    """What keeps strace from recording on this machine; None when nothing does."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-f", "-e", "trace=close", "-o", os.devnull, "true"], capture_output=True)
    return None if tried.returncode == 0 else f"strace is not allowed to trace: {tried.stderr.decode().strip()}"


def record(module: str, folder: Path, *arguments: str) -> FileRecording:
    """Run the `main` of a module as a program of its own, with the folder and the arguments, recorded with strace."""
    return _trace(folder.resolve(), _program(NO_LAYER, module, folder, arguments))


def record_below_sqlite(module: str, folder: Path, *arguments: str) -> FileRecording:
    """The same by a layer under SQLite."""
    notes = _name_sibling(folder, "notes")
    try:
        _run(_program(str(notes), module, folder, arguments))
        return _read_notes(notes)
    finally:
        notes.unlink(missing_ok=True)


def record_in_both_ways(module: str, folder: Path, *arguments: str) -> tuple[FileRecording, FileRecording]:
    """One run of a program, as strace has seen it and as a layer under SQLite has."""
    notes = _name_sibling(folder, "notes")
    try:
        return _trace(folder.resolve(), _program(str(notes), module, folder, arguments)), _read_notes(notes)
    finally:
        notes.unlink(missing_ok=True)


def _trace(folder: Path, program: list[str]) -> FileRecording:
    trace = _name_sibling(folder, "trace")
    command = ["strace", "-f", "--seccomp-bpf", "-qq", "-xx", "-s", str(_LONGEST_WRITE), "-o", str(trace)]
    command += ["-e", f"trace={_CALLS},{','.join(UNKNOWN_CALLS)}"]
    try:
        _run(command + program)
        with trace.open() as lines:
            return read_trace(lines, str(folder))
    finally:
        trace.unlink(missing_ok=True)


def _read_notes(notes: Path) -> FileRecording:
    recording = pickle.loads(notes.read_bytes())
    assert isinstance(recording, FileRecording)
    return recording


def _name_sibling(folder: Path, ending: str) -> Path:
    folder = folder.resolve()
    return folder.with_name(f"{folder.name}.{ending}")


def _program(notes: str, module: str, folder: Path, arguments: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "prove.power_loss.recorded_program", notes, module, str(folder.resolve()), *arguments]


def _run(command: list[str]) -> None:
    # A group of its own: what is traced goes on when strace is killed, and must not when this is interrupted.
    program = subprocess.Popen(
        command,
        cwd=Path(__file__).parents[2],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said = _read_errors(program)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    if program.returncode:
        raise CannotRecord(f"The program that was to be recorded failed:\n{said[-2000:]}")


def _read_errors(program: subprocess.Popen[str]) -> str:
    """What a program said until its end."""
    while True:
        # A wait without an end was not always broken off by a signal, and the program would have gone on for ever.
        with suppress(subprocess.TimeoutExpired):
            return program.communicate(timeout=1)[1]
