"""Run of a program that is recorded, in a separate process.

python -m prove.power_loss.recorded_program NOTES MODULE FOLDER [ARGUMENT ...]

The module's `main` receives a function for its announcements, the folder and the arguments. NOTES is the file for the
notes of a layer under SQLite, or `-` for no layer.
"""

from __future__ import annotations

import os
import pickle
import sys
from importlib import import_module
from pathlib import Path

from prove.power_loss.layer import Layer
from prove.power_loss.notes import TOLD

NO_LAYER = "-"


def main(notes: str, module: str, folder: str, *arguments: str) -> None:
    layer = None if notes == NO_LAYER else Layer(folder)
    announcements = os.open(f"{folder}/{TOLD}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def tell(what: str) -> None:
        os.write(announcements, what.encode())
        if layer is not None:
            with layer.one_step:
                layer.notes.tell(what)

    import_module(module).main(tell, folder, *arguments)
    os.close(announcements)
    if layer is not None:
        Path(notes).write_bytes(pickle.dumps(layer.notes.recording))


if __name__ == "__main__":
    main(*sys.argv[1:])
