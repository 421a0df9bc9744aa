"""Recorders of a program's steps on the files below a folder: every write, sync and change of a name.

strace sees every system call: of SQLite, for JSONL files, for an export, and for syncs of folders. Where it is missing,
a layer under SQLite sees the calls of SQLite alone.
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
    """Return why strace cannot record on this machine; None when it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-f", "-e", "trace=close", "-o", os.devnull, "true"], capture_output=True)
    return None if tried.returncode == 0 else f"strace is not allowed to trace: {tried.stderr.decode().strip()}"


def record(module: str, folder: Path, *arguments: str) -> FileRecording:
    """Run the `main` of a module as a program, with the folder and the arguments, and record it with strace."""
    return _trace(folder.resolve(), _program(NO_LAYER, module, folder, arguments))


def record_below_sqlite(module: str, folder: Path, *arguments: str) -> FileRecording:
    """Run the `main` of a module as `record` does, and record it with a layer under SQLite."""
    notes = _name_sibling(folder, "notes")
    try:
        _run(_program(str(notes), module, folder, arguments))
        return _read_notes(notes)
    finally:
        notes.unlink(missing_ok=True)


def record_in_both_ways(module: str, folder: Path, *arguments: str) -> tuple[FileRecording, FileRecording]:
    """Run a program once; return the recordings of strace and of a layer under SQLite."""
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
    # A separate group: a traced program outlives strace, and must not outlive an interrupt of this process.
    program = subprocess.Popen(
        command,
        cwd=Path(__file__).parents[2],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        errors = _read_errors(program)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    if program.returncode:
        raise CannotRecord(f"The program that was to be recorded failed:\n{errors[-2000:]}")


def _read_errors(program: subprocess.Popen[str]) -> str:
    """Return the error output of a program at its end."""
    while True:
        # A signal did not always end an unlimited wait, and the program would have gone on for ever.
        with suppress(subprocess.TimeoutExpired):
            return program.communicate(timeout=1)[1]
