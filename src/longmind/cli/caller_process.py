"""The session of a caller that names none: the process that runs the command, such as an agent or its shell.

A command ends with its call, so it cannot be a session itself.
"""

from __future__ import annotations

import hashlib
import os
import socket
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path


def name_caller_process() -> str:
    """Return an id for the process that started this one, which no other process has."""
    caller = os.getppid()
    parts = (socket.gethostname(), str(caller), _find_start(caller))
    return f"ipc-{hashlib.blake2b('|'.join(parts).encode(), digest_size=10).hexdigest()}"


def _find_start(process: int) -> str:
    """Return when a process started, since ids of processes are used again; elsewhere than on Linux, today's date."""
    with suppress(OSError, IndexError):
        # The name of the program stands in parentheses and may hold anything; the start is the 20th field after it.
        return Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19] + _find_boot()
    return datetime.now(UTC).date().isoformat()


def _find_boot() -> str:
    """Return the id of this run of the machine, from whose beginning starts of processes are counted."""
    return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
