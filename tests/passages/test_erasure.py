"""After an erasure no byte of what was said is left, nor of its words and vectors, and no cache has any of it."""

from __future__ import annotations

import hashlib
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import psycopg
import pytest

import longmind
from harness.crew import Line, start_process
from tests.passages.person import BY_WORDS, QUESTIONS, FamiliarEmbedder, Person, again, meet
from tests.passages.pieces import CountingEmbedder

NAME = "Qzanthorvexilliad"
MARKERS = tuple(f"q{hashlib.sha256(str(number).encode()).hexdigest()[:20]}" for number in range(60))
"""Words that stand nowhere else."""
WINDOW = 16
"""Bytes of a segment that stand nowhere else by chance."""


class DistinctEmbedder(CountingEmbedder):
    """Every text has a vector of its own, without zeros, so that its bytes can be found again."""

    def __init__(self) -> None:
        super().__init__(dimension=128)
        self.model = "test:distinct"

    def embed_query(self, query: str) -> list[float]:
        seed = int.from_bytes(hashlib.sha256(query.encode()).digest()[:8], "big")
        return list(np.random.default_rng(seed).normal(size=self.dimension))


@pytest.fixture
def embedder() -> DistinctEmbedder:
    return DistinctEmbedder()


class Disk:
    """The files of an SQLite database, or the rows of all tables of a PostgreSQL one."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._file = Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite") else None
        self._raw = b""

    def read(self) -> None:
        """Read everything as it is now."""
        self._raw = self._read_rows() if self._file is None else self._read_files(self._file)

    def _read_files(self, file: Path) -> bytes:
        # By another process: to close a file here would end the locks that SQLite has on it.
        paths = [str(each) for each in sorted(file.parent.glob(f"{file.name}*"))]
        return subprocess.run(["cat", *paths], capture_output=True, check=True).stdout

    def _read_rows(self) -> bytes:
        with psycopg.connect(self._url) as connection:
            tables = connection.execute(
                "SELECT schemaname, tablename FROM pg_tables"
                " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
            ).fetchall()
            assert len(tables) > 20
            rows = [
                row
                for schema, table in tables
                for (row,) in connection.execute(f'SELECT t::text FROM "{schema}"."{table}" AS t'.encode())
            ]
        return "\n".join(rows).encode()

    def has(self, text: str) -> bool:
        return text.lower().encode() in self._raw.lower()

    def count(self, windows: Sequence[bytes]) -> int:
        """How many of some strings of bytes are there."""
        if self._file is None:
            return sum(window.hex().encode() in self._raw for window in windows)
        return sum(window in self._raw for window in windows)

    def list_bodies(self) -> list[bytes]:
        """The words and vectors of passages, and the vectors of events."""
        statement = "SELECT body FROM {}passage_segments UNION ALL SELECT body FROM {}event_vectors"
        if self._file is None:
            with psycopg.connect(self._url) as connection:
                found = connection.execute(statement.format("longmind.", "longmind.").encode()).fetchall()
        else:
            with closing(apsw.Connection(str(self._file))) as connection:
                found = list(connection.execute(statement.format("", "")))
        return [bytes(body) for (body,) in found]


def windows_of(bodies: Sequence[bytes]) -> list[bytes]:
    """Strings of bytes that belong to these segments alone: not those of headers, nor of small numbers."""
    found = {body[at : at + WINDOW] for body in bodies for at in range(0, len(body) - WINDOW, WINDOW)}
    return sorted(window for window in found if len(set(window)) > WINDOW - 4)


def say_everything(person: Person) -> None:
    """Say all marker words, by names too, and forget some of it, so that some are in no segment any more."""
    conversation_id = person.talk()
    for marker in MARKERS:
        person.say(f"{NAME}: my automobile {marker} crashed.", conversation_id)
    secret = person.say(f"{NAME}: this automobile {MARKERS[0]} is a secret.", conversation_id)
    person.forget(secret)


@pytest.mark.conforms("A9.4", "T9")
def test_of_texts_words_and_vectors_not_a_byte_is_left(engine: longmind.Engine, database_url: str) -> None:
    ada, bob = meet(engine), meet(engine, "bob")
    for person in (ada, bob):
        person.bind()
    bob.say("The automobile of Bob crashed")
    engine.work()
    disk = Disk(database_url)
    of_bob = set(windows_of(disk.list_bodies()))
    say_everything(ada)
    engine.work()
    ada.searched(BY_WORDS)
    assert len(ada.quotes(BY_WORDS)) == len(MARKERS)
    windows = [window for window in windows_of(disk.list_bodies()) if window not in of_bob]
    disk.read()
    # The proof would prove nothing if they could not be found.
    assert all(disk.has(word) for word in (*MARKERS, NAME))
    assert len(windows) > 500
    assert disk.count(windows) > 0.9 * len(windows)
    done = ada.ctx.admin.delete_user_data(confirm=True)
    # PostgreSQL keeps rows that nobody can read any more until the tables are rewritten, of which it tells.
    assert bool(done["physical"]["left"]) is database_url.startswith("postgresql")
    disk.read()
    assert [word for word in (*MARKERS, NAME) if disk.has(word)] == []
    assert disk.count(windows) == 0
    assert bob.quotes(BY_WORDS) == ["The automobile of Bob crashed"]
    engine.work()
    disk.read()
    assert disk.count(windows) == 0
    assert not disk.has(NAME)


def test_a_forgotten_message_leaves_no_byte_of_its_vector(engine: longmind.Engine, database_url: str) -> None:
    """Its text stays in the ledger; what passages were made of does not, in any file."""
    ada = meet(engine)
    ada.bind()
    disk = Disk(database_url)
    kept = [ada.say(f"This automobile {marker} crashed.") for marker in MARKERS[:3]]
    engine.work()
    before = set(windows_of(disk.list_bodies()))
    secret = ada.say(f"My automobile {MARKERS[3]} crashed.")
    engine.work()
    windows = [window for window in windows_of(disk.list_bodies()) if window not in before]
    assert windows
    ada.forget(secret)
    left = b"".join(disk.list_bodies())
    assert not [window for window in windows if window in left]
    assert len(ada.quotes(BY_WORDS)) == len(kept)


@pytest.fixture
def elsewhere(database_url: str) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=DistinctEmbedder()) as engine:
        yield engine


@pytest.mark.conforms("A9.4")
def test_another_engine_quotes_nothing_from_the_next_call_on(
    engine: longmind.Engine, elsewhere: longmind.Engine, database_url: str
) -> None:
    ada = meet(engine)
    ada.bind()
    ada.say("My automobile crashed")
    engine.work()
    there = again(elsewhere, ada)
    assert there.quotes(BY_WORDS) == ada.quotes(BY_WORDS) == ["My automobile crashed"]
    ada.ctx.admin.delete_user_data(confirm=True)
    # The same person comes back, and nothing of before is known.
    anew = meet(engine)
    anew.bind()
    for person in (anew, Person(there.ctx, anew.space_id)):
        assert person.quotes(BY_WORDS) == []
        assert "automobile" not in person.recalled(BY_WORDS)
        assert "automobile" not in person.searched(BY_WORDS)
    anew.say("Some automobile crashed")
    for person in (anew, Person(there.ctx, anew.space_id)):
        assert person.quotes(BY_WORDS) == ["Some automobile crashed"]
    # No word of before counts in any cache.
    with longmind.open(database_url, embedder=DistinctEmbedder()) as reopened:
        expected = again(reopened, anew).scored()
    assert anew.scored() == Person(there.ctx, anew.space_id).scored() == expected


def quote_when_told(line: Line, url: str, space_id: str) -> list[str]:
    with longmind.open(url, embedder=FamiliarEmbedder()) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        line.say(Person(ctx, space_id).quotes(BY_WORDS))
        space_id = line.hear()
        return [text for question in QUESTIONS for text in Person(ctx, space_id).quotes(question)]


@pytest.mark.conforms("A9.4")
def test_another_process_quotes_nothing_from_the_next_call_on(engine: longmind.Engine, database_url: str) -> None:
    ada = meet(engine)
    ada.bind()
    ada.say("My automobile crashed")
    engine.work()
    with start_process(quote_when_told, database_url, ada.space_id) as other:
        assert other.hear() == ["My automobile crashed"]
        ada.ctx.admin.delete_user_data(confirm=True)
        anew = meet(engine)
        anew.bind("*")
        other.say(anew.space_id)
        assert other.result() == []


@pytest.mark.conforms("A9.4", "T9")
@pytest.mark.parametrize("by", ["job", "reindex"])
def test_vectors_that_are_being_made_during_an_erasure_are_not_stored(
    engine: longmind.Engine, embedder: DistinctEmbedder, database_url: str, by: str
) -> None:
    ada = meet(engine)
    ada.bind()
    ada.say(f"{NAME}: my automobile {MARKERS[0]} crashed.")
    original = embedder.embed_texts
    erased = threading.Event()

    def erase_first(texts: Sequence[str]) -> Any:
        if NAME in str(texts) and not erased.is_set():
            erased.set()
            ada.ctx.admin.delete_user_data(confirm=True)
        return original(texts)

    embedder.embed_texts = erase_first  # type: ignore[method-assign]  # acts in the middle of the job
    if by == "job":
        engine.work()
    else:
        engine.reindex()
    assert erased.is_set()
    disk = Disk(database_url)
    assert disk.list_bodies() == []
    disk.read()
    assert not disk.has(NAME)
    assert not disk.has(MARKERS[0])
