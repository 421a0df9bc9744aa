"""`longmind import` as a real command, killed during the import."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

from harness.crew import ProcessFailed
from prove.kills import journal
from prove.kills.commands import Command, command
from prove.kills.journal import Journal
from prove.kills.steps.copies import TEMPLATES, copy_of, template
from prove.kills.transports import APP, TENANT

_LONGEST = 0.5
"""Latest kill after the file was opened, as a share of the time until then; some imports finish before it."""
_IN_THE_WAY = "There is other data"
_OPEN_FILES = Path("/proc/self/fd")


def kill_an_import(url: str, folder: Path, user: str, dice: random.Random) -> bool:
    """Import for a user, keep the user's journal, and return whether the import was killed before its end.

    An import without an answer is repeated.
    """
    history, noted = journal.read(folder, user), Journal(folder, user)
    export = dice.choice(TEMPLATES)
    file = template(folder, export, "zip")
    given = {"export": export, "file": str(file), "target": copy_of(user)}
    number = history.next_number
    if history.unanswered is not None:
        number, given = history.unanswered.number, history.unanswered.given
        file = Path(given["file"])
    noted.intend(number, "import_file", given)
    words = ("import", given["file"], "--user", given["target"], "--tenant", TENANT, "--app", APP)
    with command(url, folder, "", *words) as running:
        began = time.monotonic()
        _wait_for_file(running, file)
        time.sleep(dice.uniform(0, _LONGEST) * (time.monotonic() - began))
        running.kill()
        code, output, trouble = running.end()
    if code == 0:
        noted.note_answer(number, {"new": sum(json.loads(output)["imported"].values())})
    elif code != -signal.SIGKILL:
        if _IN_THE_WAY not in trouble:
            raise ProcessFailed(f"An import ended with {code}: {trouble}")
        noted.note_refusal(number, trouble)
    noted.close()
    return code == -signal.SIGKILL


def _wait_for_file(running: Command, file: Path) -> None:
    """Wait until the command reads the export: its database is open then, and the import comes next."""
    while _OPEN_FILES.exists() and not running.has_ended:
        opened = Path(f"/proc/{running.pid}/fd")
        try:
            if any(os.readlink(each) == str(file) for each in opened.iterdir()):
                return
        except OSError:
            # A file was closed in between, or the process is gone.
            continue
        time.sleep(0.0005)
