"""Notes of a program's steps from any recorder, which follow the file that each name stands for."""

from __future__ import annotations

from dataclasses import dataclass, field

from prove.power_loss.steps import ROOT, Announcement, Rename, Step, Sync

TOLD = "told"
"""The file in the folder that receives a program's announcements. It is not part of the recording."""


class CannotRecord(Exception):
    """The recording does not show all that the program did."""


@dataclass
class FileRecording:
    steps: list[Step] = field(default_factory=list)
    folders: set[int] = field(default_factory=lambda: {ROOT})


class Notes:
    """The steps below a folder so far."""

    def __init__(self, folder: str) -> None:
        self.recording = FileRecording()
        self.names = {folder: ROOT}
        """The present file of each path."""
        self._folder = folder
        self._last = ROOT

    def is_below(self, path: str) -> bool:
        return path.startswith(f"{self._folder}/") or path == self._folder

    def is_told(self, path: str) -> bool:
        return path == f"{self._folder}/{TOLD}"

    def note(self, step: Step, path: str) -> None:
        if not self.is_told(path):
            self.recording.steps.append(step)

    def tell(self, what: str) -> None:
        self.recording.steps.append(Announcement(what))

    def make(self, path: str) -> int:
        """A new file."""
        self._last += 1
        self.rename((path, self._last))
        return self._last

    def make_folder(self, path: str) -> int:
        number = self.make(path)
        self.recording.folders.add(number)
        return number

    def make_lasting_folders(self, path: str) -> None:
        """Note new folders on the way to a file as if they had always existed."""
        above = path.rpartition("/")[0]
        if above not in self.names:
            self.make_lasting_folders(above)
            self.make_folder(above)
            self.sync_folder_of(above)

    def sync_folder_of(self, path: str) -> None:
        self.note(Sync(self.names[path.rpartition("/")[0]]), path)

    def rename(self, *changes: tuple[str, int | None]) -> None:
        """Note that paths now stand for another file, or for none (None)."""
        noted = []
        for path, number in changes:
            above, _, name = path.rpartition("/")
            noted.append((self.names[above], name, number))
            if number is None:
                del self.names[path]
            else:
                self.names[path] = number
        self.note(Rename(tuple(noted)), changes[0][0])

    def move(self, source: str, target: str) -> None:
        number = self.names[source]
        self.rename((source, None), (target, number))
        for path, each in list(self.names.items()):
            # What is in a folder goes with it.
            if number in self.recording.folders and path.startswith(f"{source}/"):
                del self.names[path]
                self.names[target + path.removeprefix(source)] = each
