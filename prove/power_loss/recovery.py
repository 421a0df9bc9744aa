"""Check of a disk after a loss of power: it must hold an earlier state of the store, and an engine must work on it.

The reference is the same disk without a loss, compared with the program's announcements through the public interface.
After a loss, the content of all tables must equal one of these states.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import apsw

import longmind
from longmind.events.mirror.jsonl import read_jsonl
from prove.power_loss.disk import Image
from prove.power_loss.workload import ARCHIVE, DATABASE, MIRROR
from prove.world import ADA, World, context_of, differences

NOTHING = "no table"


@dataclass
class Obligations:
    """Everything announced so far, which must exist whatever happens next."""

    world: World = field(default_factory=dict)
    lines: set[str] = field(default_factory=set)
    erased: bool = False
    archive: bool = False

    def hear(self, told: str) -> dict[str, Any]:
        what: dict[str, Any] = json.loads(told)
        self.world |= what["world"]
        self.lines |= set(what.get("lines", ()))
        self.erased |= what.get("erased", False)
        self.archive |= what.get("archive", False)
        return what


@contextmanager
def write_image(image: Image, folder: Path) -> Iterator[Path]:
    """Files made from an image, until the block ends."""
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        for path, content in image.items():
            if path.endswith("/"):
                (place / path).mkdir(parents=True, exist_ok=True)
            else:
                (place / path).write_bytes(content)
        yield place
    finally:
        shutil.rmtree(place)


def digest(image: Image) -> bytes:
    found = hashlib.sha256()
    for path, content in sorted(image.items()):
        found.update(f"{path}\0{len(content)}\0".encode())
        found.update(content)
    return found.digest()


class ImageInspector:
    """Inspection of images, with results cached by content."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._states: dict[bytes, tuple[str, list[str]]] = {}
        self._mirrors: dict[bytes, tuple[set[str], set[str]]] = {}
        self._went_on: dict[bytes, list[str]] = {}

    def state(self, image: Image) -> tuple[str, list[str]]:
        """Return a checksum of the stored data, and the problems of the file."""
        store = _part(image, DATABASE.split("/")[0])
        if (found := digest(store)) not in self._states:
            with write_image(store, self._folder) as place:
                self._states[found] = _state_of(place)
        return self._states[found]

    def wrong_with_mirror(self, image: Image, owed: Obligations, *, synced: bool) -> list[str]:
        """Return the problems of the JSONL files: lines that were synced must exist."""
        mirror = _part(image, MIRROR.split("/")[0])
        if (found := digest(mirror)) not in self._mirrors:
            with write_image(mirror, self._folder) as place:
                self._mirrors[found] = _read_mirror(place)
        ids, users = self._mirrors[found]
        lost = len(owed.lines - ids) if synced else 0
        wrong = [f"{lost} lines are missing in the JSONL files"] if lost else []
        return wrong + (["JSONL files of an erased user are back"] if owed.erased and len(users) > 1 else [])

    def wrong_with_archive(self, image: Image, owed: Obligations) -> list[str]:
        """Return the problems of the archive: an announced one must be complete, any other complete or refused."""
        if ARCHIVE not in image:
            return ["the archive is gone"] if owed.archive else []
        brought, refusal = _import_archive(image[ARCHIVE])
        if refusal is not None:
            return [f"the archive is not whole: {refusal}"] if owed.archive else []
        return [] if brought else ["an archive that holds nothing is taken for one"]

    def wrong_when_going_on(self, image: Image, found: bytes) -> list[str]:
        if found not in self._went_on:
            with write_image(image, self._folder) as place:
                self._went_on[found] = wrong_when_going_on(place, None)
        return self._went_on[found]


def _part(image: Image, folder: str) -> Image:
    return {path: content for path, content in image.items() if path.startswith(f"{folder}/")}


def _read_mirror(place: Path) -> tuple[set[str], set[str]]:
    """Return the events that have a line, and the users that have a folder."""
    found = [file for file in (place / MIRROR).glob("*/mem/*/events/*.jsonl") if ".new" not in file.parts]
    users = {file.relative_to(place / MIRROR).parts[0] for file in found}
    return {event["event_id"] for event in read_jsonl(found)}, users


def _state_of(place: Path) -> tuple[str, list[str]]:
    """Return a checksum of all rows of all tables, and the problems of the file."""
    file = place / DATABASE
    if not file.exists():
        return NOTHING, []
    connection = apsw.Connection(str(file))
    try:
        found = connection.execute("PRAGMA integrity_check").fetchall()
        wrong = [] if found == [("ok",)] else [f"integrity_check: {found[:3]}"]
        wrong += [f"foreign_key_check: {row}" for row in connection.execute("PRAGMA foreign_key_check")]
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        if not tables:
            return NOTHING, wrong
        digest = hashlib.sha256()
        for table in sorted(tables):
            digest.update(f"\n{table}\n".encode())
            for row in sorted(map(repr, connection.execute(f'SELECT * FROM "{table}"'))):
                digest.update(row.encode())
        return digest.hexdigest(), wrong
    except apsw.Error as error:
        return f"unreadable: {error}", [f"SQLite: {error}"]
    finally:
        connection.close()


@lru_cache(maxsize=1000)
def _import_archive(archive: bytes) -> tuple[int, str | None]:
    """Return the number of conversations in an archive, or why its import is refused."""
    with longmind.open("sqlite:///:memory:", embedder=None) as engine:
        ada = context_of(engine, ADA)
        try:
            ada.admin.import_user_data(io.BytesIO(archive))
        except longmind.LongmindError as error:
            return 0, error.message
        return len(ada.conversations.list_conversations()), None


def wrong_when_going_on(place: Path, world: World | None) -> list[str]:
    """Open the store with an ordinary engine and return what fails: answers, writes, recall, jobs, the mirror."""
    wrong: list[str] = []
    try:
        url, mirror = f"sqlite:///{place}/{DATABASE}", str(place / MIRROR)
        with longmind.open(url, embedder=None, events_jsonl_dir=mirror) as engine:
            wrong += [] if world is None else differences(engine, world)
            ada = context_of(engine, ADA)
            space = ada.memory.create_memory_space("afterwards")
            ada.memory.add_atom(space.id, {"text": "The lamp is green.", "category": {"name": "n", "kind": "FACT"}})
            if not ada.memory.recall_by_topic(space.id, "green lamp").hits:
                wrong.append("what is written afterwards is not found")
            made = ada.conversations.create_conversation("afterwards")
            if ada.conversations.append_user_message(made.id, "Hello").sequence != 1:
                wrong.append("a new conversation does not begin at 1")
            engine.work()
            event = ada.events.record("afterwards", {"power": "back"})
            engine.rebuild_jsonl()
            if event.event_id not in {each["event_id"] for each in read_jsonl(ada.events.jsonl_files())}:
                wrong.append("the JSONL files cannot be rebuilt")
    except longmind.LongmindError as error:
        wrong.append(f"an engine cannot go on: {type(error).__name__}: {error.message}")
    return wrong
