"""No trace on the disk: words are planted everywhere, the user is erased, and the raw files are looked through."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import apsw
import psycopg
import pytest

import longmind
from harness.operation_calls import make_direct_call
from longmind.operations import OPERATIONS
from longmind.server.routes import MEMORY_OPERATIONS
from longmind.store.database_url import sqlite_path
from longmind.store.postgres.vacuum import rewrite_tables
from longmind.store.whole_tables.byte_scan import ByteScan, SearchedTexts
from tests.admin.conftest import KEY, Cli, bytes_of, listed, live, of
from tests.admin.planted_words import WORD, Words, plant, user_of
from tests.admin.planting_surfaces import plant_from_outside
from tests.embedder import WordsEmbedder
from tests.extraction.conftest import talk
from tests.extraction.scripted_extractor import SentenceExtractor

ALL_OPERATIONS = (*OPERATIONS, *MEMORY_OPERATIONS)
# Bringing an export in, erasing, and undoing what superseded an atom: the first two are what this is about, and the
# others take no text.
NOT_PLANTED = {
    "admin.import_user_data",
    "admin.delete_user_data",
    # Agents belong to the app, and an invocation is a turn, which is planted as one.
    "agents.register",
    "agents.remove",
    "agents.invoke",
    "memory.forget_messages",
    "memory.restore_atom",
    "memory.undo_decision",
    "front_door.erase",
}
# Models, tools and their handlers are objects of a program, and cannot be sent.
NOT_SENT = NOT_PLANTED | {"conversations.run_turn"}
# Ids that the engine has given, versions, of which there are a few, and what of a program takes no words.
NOT_WORDS = {
    "extraction_policy", "extraction_version",
    "alias_id", "atom_id", "binding_id", "canonical_id", "conversation", "conversation_id", "decision_id", "id",
    "job_id", "memory_space_id", "memory_space_ids", "supersedes", "cancel", "memory_policy", "model", "on_text",
    "tool_arguments", "tool_handler", "usage", "what",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where events are mirrored, also by commands."""
    monkeypatch.setenv("LONGMIND_EVENTS_JSONL_DIR", str(tmp_path / "log"))
    monkeypatch.setenv("LONGMIND_EMBEDDER", "none")
    return tmp_path / "log"


@pytest.fixture
def engine(folder: Path, database_url: str, extractor: SentenceExtractor) -> Iterator[longmind.Engine]:
    with longmind.open(
        database_url, extractor=extractor, embedder=WordsEmbedder(), audit_key=KEY, job_retry_seconds=0.001
    ) as engine:
        yield engine


def text_parameters() -> set[str]:
    """Every parameter of an operation that writes, and that could be given words."""
    # The name of a vendor goes with the name of a model, which would be asked.
    return {
        f"{operation.path}.{name}"
        for operation in ALL_OPERATIONS
        if operation.access == "write" and operation.path not in NOT_PLANTED
        for name, each in operation.signature.parameters.items()
        if name not in NOT_WORDS and takes_words(each.annotation)
    } - {"conversations.run_turn.provider"}


def takes_words(annotation: Any) -> bool:
    # One of a few words is no text, and neither is a time, which may be written as one.
    return "Literal" not in str(annotation) and not types_in(annotation) & {bool, int, float, datetime}


def types_in(annotation: Any) -> set[Any]:
    """The types that an annotation names outright or in a union, whatever is said of their limits."""
    if get_origin(annotation) is Annotated:
        return types_in(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return {each for member in get_args(annotation) for each in types_in(member)}
    return {annotation}


def erase_and_look(
    engine: longmind.Engine,
    cli: Cli,
    root: longmind.Context,
    bob: longmind.Context,
    rounds: int,
    url: str,
    *,
    outside: bool,
) -> list[str]:
    """Plant words in so many rounds, erase, and see that none is left and that the neighbour is as before."""
    live(bob)
    live(root)
    shared = root.memory.create_memory_space("insights", kind="shared")
    root.memory.create_binding({"namespace": "chat", "userId": "*"}, [shared.id])
    word = Words(rounds)
    name = word()
    root.memory.create_binding({"namespace": "mail", "userId": name}, [shared.id])
    root.memory.grant_space(shared.id, name)
    planted: set[str] = set()
    for _ in range(rounds):
        context = user_of(engine, word, name)
        planted |= plant(engine, make_direct_call(context), name, word)
        talk(context, word.sentence())
        engine.work()
    writes = {each.path for each in ALL_OPERATIONS if each.access == "write"}
    assert writes - planted == NOT_PLANTED
    assert text_parameters() - planted == set()
    if outside:
        assert writes - plant_from_outside(engine, url, name, word) == NOT_SENT
        engine.work()
    before = bytes_of(bob)
    log = Path(engine.settings.events_jsonl_dir)
    tokens = listed(log.parent / "tokens.txt", word.given)
    # The proof would prove nothing if the words could not be found. Some, such as what was asked for, are never kept.
    found = {each["text"] for each in json.loads(cli("erase", "verify", "--file", tokens, "--json").stdout)["found"]}
    assert len(found) > 0.9 * len(word.given)
    assert any(set(word.given) & set(WORD.findall(file.read_text())) for file in log.rglob("*.jsonl"))
    told = [each for each in root.memory.list_atoms(shared.id, status=None, limit=1000) if WORD.search(each.text)]
    assert len(told) >= rounds
    erased = root.admin.delete_user_data(name, confirm=True)
    assert (erased["deleted"]["shared_atoms"], erased["deleted"]["access_keys"]) == (len(told), 2 * outside)
    if erased["physical"]["left"]:
        assert cli("erase", "verify", "--text", name).returncode == 1
        assert cli("erase", "--vacuum").returncode == 0
    done = cli("erase", "verify", "--file", tokens, "--json")
    assert json.loads(done.stdout)["found"] == []
    assert done.returncode == 0
    assert bytes_of(bob) == before
    return word.given


@pytest.mark.patient
@pytest.mark.conforms("A9.4", "T9")
def test_of_words_that_were_planted_everywhere_none_is_left_in_the_files(
    engine: longmind.Engine, cli: Cli, root: longmind.Context, bob: longmind.Context, database_url: str
) -> None:
    # A server takes its time to begin, so that words come from outside to one engine here, and to both where there is.
    outside = database_url.startswith("sqlite")
    assert len(erase_and_look(engine, cli, root, bob, 1, database_url, outside=outside)) > 200


@pytest.mark.slow
@pytest.mark.conforms("A9.4", "T9")
def test_of_a_thousand_words_that_were_planted_everywhere_none_is_left_in_the_files(
    engine: longmind.Engine, cli: Cli, root: longmind.Context, bob: longmind.Context, database_url: str
) -> None:
    assert len(erase_and_look(engine, cli, root, bob, 5, database_url, outside=True)) > 1_000


def found(words: list[str], pieces: list[bytes]) -> list[str]:
    scan = ByteScan()
    SearchedTexts(words).search("file", pieces, scan)
    return sorted({text for _, text in scan.found})


@pytest.mark.parametrize(
    "written",
    [
        'Zoë said "hi"\\',
        json.dumps('Zoë said "hi"\\'),
        json.dumps('Zoë said "hi"\\', ensure_ascii=False),
        'zoë said "hi"\\',
        json.dumps('Zoë said "hi"\\').replace("\\", "\\\\"),
    ],
)
def test_a_text_is_found_however_it_is_written_and_wherever_a_piece_ends(written: str) -> None:
    file = b"\0\0" + written.encode() + b"\xff\xff"
    for cut in range(len(file)):
        assert found(['Zoë said "hi"\\', "Grete"], [file[:cut], file[cut:]]) == ['Zoë said "hi"\\']
    assert found(["Zoe"], [file]) == []


def test_a_large_file_is_left_to_be_rebuilt_later_and_the_answer_says_so(sqlite_url: str, tmp_path: Path) -> None:
    with longmind.open(sqlite_url, embedder="none", erasure_rebuild_megabytes=0.01) as engine:
        ada = of(engine, "ada")
        live(ada)
        physical = ada.admin.delete_user_data(confirm=True)["physical"]
    assert physical["done"] is False
    assert "longmind erase --vacuum" in physical["left"]


def test_a_file_that_cannot_be_rebuilt_now_costs_nobody_the_receipt(sqlite_url: str) -> None:
    with longmind.open(sqlite_url, embedder="none", busy_timeout_seconds=0.2) as engine:
        ada, root = of(engine, "ada"), of(engine, "root", capabilities={"admin"})
        shared = root.memory.create_memory_space("insights", kind="shared")
        root.memory.create_binding({"namespace": "chat", "userId": "*"}, [shared.id])
        talk(ada, "I live in Graz.")
        engine.work()
        writer = apsw.Connection(sqlite_path(sqlite_url))
        # Told of what the erasure has removed from the shared space, somebody begins to write.
        engine.subscribe(lambda change: writer.execute("BEGIN IMMEDIATE"), kinds=["atom.deleted"])
        erased = root.admin.delete_user_data("ada", confirm=True)
        assert erased["physical"]["done"] is False
        assert "not rebuilt" in erased["physical"]["left"]
        writer.execute("ROLLBACK")
        writer.close()
        assert root.admin.verify_receipt(erased["receipt"])


def test_a_reader_that_keeps_the_wal_file_is_told_of(sqlite_url: str) -> None:
    with (
        longmind.open(sqlite_url, embedder="none", busy_timeout_seconds=0.2) as engine,
        longmind.open(sqlite_url, embedder="none") as other,
    ):
        ada = of(engine, "ada")
        live(ada)
        seen: list[dict[str, Any]] = []

        def read_and_erase(run: Any) -> None:
            run.one("last_position")
            seen.append(ada.admin.delete_user_data(confirm=True)["physical"])

        other._database.read_snapshot(None, read_and_erase)
        assert seen[0]["done"] is False
        assert "reader" in seen[0]["left"]
        assert ada.admin.delete_user_data(confirm=True)["physical"]["done"] is True


class Led:
    """A connection whose statements a test may change, or do something before."""

    def __init__(self, connection: psycopg.Connection[Any], lead: Callable[[str], str]) -> None:
        self._connection = connection
        self._lead = lead

    def execute(self, query: str, *values: Any) -> Any:
        return self._connection.execute(self._lead(query).encode(), *values)


@pytest.fixture
def analysed(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    """A server that knows what its only user has said, who is erased."""
    with (
        longmind.open(postgres_url, embedder="none") as engine,
        psycopg.connect(postgres_url, autocommit=True) as connection,
    ):
        ada = of(engine, "ada")
        for _ in range(20):
            ada.conversations.create_conversation("Xaver")
        connection.execute("ANALYZE")
        ada.admin.delete_user_data(confirm=True)
        assert b"Xaver" in statistics(connection)
        yield connection


def statistics(connection: psycopg.Connection[Any]) -> bytes:
    """The file in which the server keeps what it knows of the values of columns."""
    connection.execute("CHECKPOINT")
    row = connection.execute("SELECT pg_read_binary_file(pg_relation_filepath('pg_statistic'))").fetchone()
    assert row is not None
    return bytes(row[0])


@pytest.mark.patient
@pytest.mark.parametrize("clears", ["pg_clear_attribute_stats", "unknown_before_postgresql_18"])
def test_nothing_of_the_last_user_stays_in_the_statistics(analysed: psycopg.Connection[Any], clears: str) -> None:
    """A table that is empty keeps those of the rows that it had."""
    led: Any = Led(analysed, lambda query: query.replace("pg_catalog.pg_clear_attribute_stats", f"pg_catalog.{clears}"))
    assert rewrite_tables(led, 60).left is None
    assert b"Xaver" not in statistics(analysed)


def test_a_reader_that_came_before_the_statistics_were_replaced_is_told_of(
    analysed: psycopg.Connection[Any], postgres_url: str
) -> None:
    with psycopg.connect(postgres_url) as reader:
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ

        def come(query: str) -> str:
            if query.startswith("VACUUM"):
                reader.execute("SELECT 1")
            return query

        led: Any = Led(analysed, come)
        assert "still sees" in str(rewrite_tables(led, 0.2).left)
        assert b"Xaver" in statistics(analysed)
    assert rewrite_tables(analysed, 60).left is None
    assert b"Xaver" not in statistics(analysed)
