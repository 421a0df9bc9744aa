"""A disk that may lose its power: its certain content, and the content that may be lost.

The rules are those of POSIX and no kinder. Writes to a file are certain once the file was synced, and a name once its
folder was. Until then any of them may be present, in any order, and any of the sectors of a write.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from prove.power_loss.steps import ROOT, Announcement, Rename, Step, Sync, Truncate, Write

SECTOR = 512

Image = dict[str, bytes]
"""The content of each file on the disk by its path; a folder ends with a slash and has no content."""
Data = list[Write | Truncate]


@dataclass
class Disk:
    """A disk while a program works on it."""

    certain: dict[int, bytearray] = field(default_factory=dict)
    names: dict[int, dict[str, int]] = field(default_factory=lambda: {ROOT: {}})
    """The names that are certain, by folder."""
    unsynced: dict[int, Data] = field(default_factory=dict)
    renames: list[Rename] = field(default_factory=list)
    """Changes of names whose folders were not synced since."""

    def do(self, step: Step) -> None:
        match step:
            case Write() | Truncate():
                self.unsynced.setdefault(step.file, []).append(step)
            case Rename():
                self.renames.append(step)
            case Sync():
                _apply(self.certain.setdefault(step.file, bytearray()), self.unsynced.pop(step.file, []))
                self._settle_names(step.file)
            case Announcement():
                pass

    def _settle_names(self, folder: int) -> None:
        waiting, self.renames = self.renames, []
        for rename in waiting:
            if any(place == folder for place, _, _ in rename.changes):
                _rename(self.names, rename)
            else:
                self.renames.append(rename)

    def lose_power(self, fate: Fate, folders: Iterable[int], dice: random.Random) -> Image:
        """Return the content after a loss of power with this fate of unsynced data; `folders` are their numbers."""
        names = {folder: dict(entries) for folder, entries in self.names.items()}
        for rename in fate.names(self.renames, dice):
            _rename(names, rename)
        image: Image = {}
        known = set(folders)

        def visit(folder: int, path: str) -> None:
            for name, number in names.get(folder, {}).items():
                if number in known:
                    image[f"{path}{name}/"] = b""
                    visit(number, f"{path}{name}/")
                else:
                    content = bytearray(self.certain.get(number, b""))
                    _apply(content, fate.data(self.unsynced.get(number, []), dice))
                    image[f"{path}{name}"] = bytes(content)

        visit(ROOT, "")
        return image


def _rename(names: dict[int, dict[str, int]], rename: Rename) -> None:
    for folder, name, number in rename.changes:
        if number is None:
            names.setdefault(folder, {}).pop(name, None)
        else:
            names.setdefault(folder, {})[name] = number


def _apply(content: bytearray, data: Data) -> None:
    for step in data:
        size = step.size if isinstance(step, Truncate) else step.offset
        if len(content) < size:
            # A hole, or an earlier write that was lost.
            content.extend(bytes(size - len(content)))
        if isinstance(step, Truncate):
            del content[step.size :]
        else:
            content[step.offset : step.offset + len(step.content)] = step.content


@dataclass(frozen=True)
class Fate:
    """The fate of unsynced data and names."""

    data: Callable[[Data, random.Random], Data]
    names: Callable[[list[Rename], random.Random], list[Rename]]


def _none(steps: list[object], dice: random.Random) -> list[object]:
    return []


def _all(steps: list[object], dice: random.Random) -> list[object]:
    return steps


def _first(steps: list[object], dice: random.Random) -> list[object]:
    """Keep a random number of the first steps."""
    return steps[: dice.randint(0, len(steps))]


def _some(steps: list[object], dice: random.Random) -> list[object]:
    return [step for step in steps if dice.random() < 0.5]


def _tear(data: Data, dice: random.Random) -> Data:
    """Keep the first steps up to a write of which only some sectors are kept."""
    kept = dice.randint(0, len(data))
    return data[:kept] + _sectors(data[kept : kept + 1], dice)


def _any_order(data: Data, dice: random.Random) -> Data:
    """Keep random steps, so that later ones precede lost earlier ones, and some only in part."""
    kept: Data = []
    for step in data:
        if dice.random() < 0.5:
            kept += [step] if dice.random() < 0.75 else _sectors([step], dice)
    return kept


def _sectors(data: Data, dice: random.Random) -> Data:
    pieces: Data = []
    for step in data:
        if isinstance(step, Truncate):
            continue
        end, at = step.offset + len(step.content), step.offset
        while at < end:
            until = min(end, (at // SECTOR + 1) * SECTOR)
            if dice.random() < 0.5:
                pieces.append(Write(step.file, at, step.content[at - step.offset : until - step.offset]))
            at = until
    return pieces


FATES: Mapping[str, Fate] = {
    "lost": Fate(_none, _none),  # type: ignore[arg-type]  # it takes lists of anything
    "kept": Fate(_all, _all),  # type: ignore[arg-type]  # it takes lists of anything
    "names lost": Fate(_all, _none),  # type: ignore[arg-type]  # it takes lists of anything
    "content lost": Fate(_none, _all),  # type: ignore[arg-type]  # it takes lists of anything
    "kept in part": Fate(_first, _first),  # type: ignore[arg-type]  # it takes lists of anything
    "torn": Fate(_tear, _first),  # type: ignore[arg-type]
    "reordered": Fate(_any_order, _some),  # type: ignore[arg-type]
}
KEPT = FATES["kept"]
DRAWN = ("kept in part", "torn", "reordered")
"""The random fates."""
