"""An engine that learns every sentence, an administrator, a user and the neighbour, and the command line."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest

import longmind
from longmind.cli import main
from tests.embedder import WordsEmbedder
from tests.extraction.scripted_extractor import SentenceExtractor


class Done(NamedTuple):
    """What became of a command."""

    returncode: int
    stdout: str
    stderr: str


Cli = Callable[..., Done]
KEY = "a secret for the audit"


@pytest.fixture
def extractor() -> SentenceExtractor:
    return SentenceExtractor()


@pytest.fixture
def engine(database_url: str, extractor: SentenceExtractor) -> Iterator[longmind.Engine]:
    with longmind.open(
        database_url, extractor=extractor, embedder=WordsEmbedder(), audit_key=KEY, job_retry_seconds=0.001
    ) as engine:
        yield engine


def of(engine: longmind.Engine, user_id: str, **more: Any) -> longmind.Context:
    return engine.context(tenant_id="acme", app_id="support", user_id=user_id, **more)


@pytest.fixture
def ada(engine: longmind.Engine) -> longmind.Context:
    return of(engine, "ada", group="team")


@pytest.fixture
def bob(engine: longmind.Engine) -> longmind.Context:
    return of(engine, "bob")


@pytest.fixture
def root(engine: longmind.Engine) -> longmind.Context:
    return of(engine, "root", capabilities={"admin"})


@pytest.fixture
def cli(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs a command on the database of the test."""
    for name, value in {"AUDIT_KEY": KEY, "TENANT": "acme", "APP": "support"}.items():
        monkeypatch.setenv(f"LONGMIND_{name}", value)

    def run(*arguments: str) -> Done:
        # The files of SQLite are read apart from the process that has them open: closing them would end its locks.
        apart = arguments[:2] == ("erase", "verify") and database_url.startswith("sqlite")
        return (run_apart if apart else run_here)(*arguments, "--url", database_url)

    return run


class Terminal(io.StringIO):
    """Where somebody sits and answers."""

    def isatty(self) -> bool:
        return True


def run_here(*arguments: str, said: str = "") -> Done:
    """Run a command in this process, with an answer to what it may ask."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "stdin", Terminal(said) if said else io.StringIO()),
    ):
        try:
            main(arguments)
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def run_apart(*arguments: str) -> Done:
    done = subprocess.run([sys.executable, "-m", "longmind.cli", *arguments], capture_output=True, text=True)
    return Done(done.returncode, done.stdout, done.stderr)


def live(context: longmind.Context) -> longmind.MemorySpace:
    """Give somebody a bit of everything."""
    name = context.scope.user_id
    space = context.memory.create_memory_space("daily", metadata={"of": name})
    context.memory.create_binding({"namespace": "chat", "userId": name}, [space.id])
    conversation = context.conversations.create_conversation("chat", title=f"The talk of {name}")
    context.conversations.append_turn(
        conversation.id, user_content=f"I am {name}. I know Grete.", assistant={"content": f"Hello {name}!"}
    )
    context.conversations.append_system_message(conversation.id, f"{name} is tired.", visibility="hidden")
    context.conversations.append_system_message(conversation.id, f"{name} is kind.", visibility="internal")
    context.conversations.refresh_rolling_summary(conversation.id)
    context.conversations.close_conversation(conversation.id)
    place = context.memory.create_entity(space.id, "PLACE", f"House of {name}", aliases=["home"])
    added = context.memory.add_atom(
        space.id,
        {"text": f"{name} has a dog.", "category": {"name": "pets", "kind": "FACT"}, "entity_ids": [place.id]},
    )
    context.memory.supersede_atom(added.id, {"text": f"{name} has a cat.", "category": {"name": "p", "kind": "FACT"}})
    first = context.blocks.update("core", f"{name} likes tea.", None)
    context.blocks.update("core", f"{name} likes coffee.", first.updated_at)
    context.blocks.set_sleep_time(True)
    context.tools.memory_store("fact", f"{name} works at night.")
    context.events.record("note", f"{name} sang.", inputs_ref=[{"who": name}])
    context.events.record_state("mood", {"of": name})
    context.jobs.enqueue("wait", {"who": name})
    return space


def empty(context: longmind.Context) -> bool:
    """Whether nothing at all is kept of somebody."""
    export = context.admin.export_user_data()
    return not any(table["rows"] for table in export["records"].values())


def bytes_of(context: longmind.Context) -> str:
    return json.dumps(context.admin.export_user_data(), sort_keys=True)


def listed(path: Path, words: list[str]) -> str:
    """A file with one word on each line."""
    path.write_text("\n".join(words), "utf-8")
    return str(path)
