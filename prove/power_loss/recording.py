"""Records what a program does to the files below a folder, with strace: every write, sync and change of a name.

strace sees what the kernel was really asked for, whoever asked: SQLite, the JSONL files, an export, and the syncs of
folders, which a layer below SQLite alone would have to guess.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from prove.power_loss.reading import UNKNOWN_CALLS, CannotRecord, Recording, read_trace

_CALLS = (
    "openat,open,creat,close,lseek,write,pwrite64,ftruncate,truncate,fsync,fdatasync,unlink,unlinkat,rename,renameat,"
    "renameat2,link,linkat,mkdir,mkdirat,rmdir"
)
_LONGEST_WRITE = 16 * 1024 * 1024


def why_not() -> str | None:
    """What keeps this machine from recording; None when nothing does."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-f", "-e", "trace=close", "-o", os.devnull, "true"], capture_output=True)
    return None if tried.returncode == 0 else f"strace is not allowed to trace: {tried.stderr.decode().strip()}"


def record(module: str, folder: Path, *arguments: str) -> Recording:
    """Run a module as a program of its own, with the folder and the arguments, and record what it does there."""
    folder = folder.resolve()
    trace = folder.with_name(f"{folder.name}.trace")
    command = ["strace", "-f", "--seccomp-bpf", "-qq", "-xx", "-s", str(_LONGEST_WRITE), "-o", str(trace)]
    command += [
        "-e",
        f"trace={_CALLS},{','.join(UNKNOWN_CALLS)}",
        sys.executable,
        "-m",
        module,
        str(folder),
        *arguments,
    ]
    try:
        ran = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
        if ran.returncode:
            raise CannotRecord(f"The program that was to be recorded failed:\n{ran.stderr[-2000:]}")
        with trace.open() as lines:
            return read_trace(lines, str(folder))
    finally:
        trace.unlink(missing_ok=True)
