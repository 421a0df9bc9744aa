"""A place where mistakes are made: a database with some memory, files that are none, a server and an agent."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import apsw
import pytest
from mcp import Client as McpClient

import longmind
from longmind.cli import ipc, main
from longmind.mcp.server import make_server
from tests.server.live_server import Client, serving

_IDS = re.compile(r"(?<=_)[0-9a-f]{32}|(?<=mem-)[0-9a-f-]{36}")
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+\.\d{6}Z")
_HASHES = re.compile(r"\b[0-9a-f]{64}\b")


class Bench:
    """Runs a mistake and returns the message that a person gets."""

    def __init__(self, url: str, folder: Path, read_output: Callable[[], tuple[str, str]]) -> None:
        self._url = url
        self._folder = folder
        self._read_output = read_output
        self.engine = longmind.open(url, embedder=None)
        context = self.engine.context
        own: dict[str, Any] = {"tenant_id": "local", "app_id": "ipc"}
        self.ctx = context(**own, user_id="ada")
        self.space = self.ctx.memory.open_default_space()
        pets = {"name": "pets", "kind": "FACT"}
        self.ctx.memory.add_atom(self.space.id, {"text": "Ada has a cat.", "category": pets})
        chat = self.ctx.conversations.create_conversation("chat")
        closed = self.ctx.conversations.close_conversation(self.ctx.conversations.create_conversation("chat").id)
        closed_engine = longmind.open("sqlite:///:memory:", embedder=None)
        closed_engine.close()
        self._memory = longmind.Memory("ada", url=url, embedder=None)
        closed_memory = longmind.Memory("ada", url=url, embedder=None)
        closed_memory.close()
        self._names: dict[str, Any] = {
            "longmind": longmind,
            "without": self._run_without,
            "engine": self.engine,
            "closed_engine": closed_engine,
            "ctx": self.ctx,
            "bob": context(**own, user_id="bob"),
            "admin": context(**own, user_id="root", capabilities={"admin"}),
            "memory": self._memory,
            "closed_memory": closed_memory,
            "space": self.space,
            "pets": pets,
            "chat": chat,
            "closed": closed,
        }
        _make_files(folder)

    def close(self) -> None:
        self._memory.close()
        self.engine.close()

    def run_python(self, code: str) -> str:
        try:
            eval(code, dict(self._names))  # the cases of this package
        except longmind.LongmindError as error:
            return self._plain(f"{type(error).__name__}: {error.message} {error.hint}")
        except TypeError as error:
            # Python's own message about a call.
            return self._plain(f"TypeError: {error}")
        return ""

    def _run_without(self, package: str, code: str) -> object:
        """Run code as if a package were not installed."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("longmind.store.database_url.find_spec", lambda name: None if name == package else object())
            return eval(code, dict(self._names))  # the cases of this package

    def run_command(self, line: str) -> str:
        program, *arguments = shlex.split(line)
        self._read_output()
        code: object = 0
        try:
            {"ipc": ipc.main, "longmind": main}[program](arguments)
        except SystemExit as ended:
            code = ended.code
        out, err = self._read_output()
        # Frames and colours of the usage depend on the terminal; the words do not.
        words = " ".join(re.sub(r"[│╭╮╰╯─]", " ", err or out).split())
        return self._plain(f"({code}) {words}")

    def run_request(self, client: Client, request: str) -> str:
        words, _, header = request.partition(" with the header ")
        words, wrong, _ = words.partition(" with a wrong key")
        words, without, _ = words.partition(" without a key")
        method, path, *body = words.split(" ", 2)
        name, _, value = header.partition(": ")
        headers = {name: value} if name else {}
        if wrong:
            headers["authorization"] = "Bearer rk_wrong"
        client = Client(client.address) if without else client
        answer = client.ask(method, path, body[0].encode() if body else None, **headers)
        problem = answer.json
        return self._plain(f"{answer.status} {problem['detail']} {problem.get('hint', '')}")

    def run_tool(self, call: str) -> str:
        name, arguments = call.split(" ", 1)

        async def talk() -> str:
            async with McpClient(make_server(lambda _: self.ctx)) as client:
                result = await client.call_tool(name, json.loads(arguments))
                return " ".join(getattr(each, "text", "") for each in result.content)

        try:
            return self._plain(anyio.run(talk))
        except BaseException as error:
            found: BaseException = error
            while isinstance(found, BaseExceptionGroup):
                found = found.exceptions[0]
            return self._plain(str(found))

    @contextmanager
    def serve(self) -> Iterator[Client]:
        """Serve with a key for Ada."""
        key = self.engine.keys.create(tenant_id="local", app_id="ipc", user_id="ada").token
        with serving(self.engine) as client:
            yield client.with_key(key)

    def _plain(self, message: str) -> str:
        message = message.replace(str(self._folder), "/home/ada")
        message = _HASHES.sub("…", _TIMES.sub("…", _IDS.sub("…", message)))
        # The engines remove deleted rows from the disk in different ways.
        return " ".join(message.split()).partition(" Receipt era_")[0]


def _make_files(folder: Path) -> None:
    (folder / "letter.txt").write_text("Dear Ada, how is your cat? " * 100)
    (folder / "broken.json").write_text("{role: user}")
    (folder / "chats.json").write_text('{"conversations": [{"title": "Cats"}]}')
    for name, statement in (
        ("shop.db", "CREATE TABLE orders (id)"),
        ("newer.db", "CREATE TABLE longmind_schema (version INTEGER PRIMARY KEY, name TEXT NOT NULL)"),
    ):
        connection = apsw.Connection(str(folder / name))
        connection.execute(statement)
        if name == "newer.db":
            connection.execute("INSERT INTO longmind_schema VALUES (9999, 'later')")
        connection.close()
    (folder / "memory").mkdir()
    with longmind.open(f"sqlite:///{folder}/memory/longmind.db", embedder=None):
        pass
    with longmind.open(f"sqlite:///{folder}/saved.db", embedder=None) as engine:
        engine.context(tenant_id="local", app_id="ipc", user_id="ada").memory.open_default_space()
    connection = apsw.Connection(str(folder / "saved.db"))
    connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    connection.close()


@contextmanager
def open_bench(url: str, folder: Path, read_output: Callable[[], tuple[str, str]]) -> Iterator[Bench]:
    """Make a bench with the database as the default one, and the folder as the home and the working folder."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("LONGMIND_", "OPENAI_", "ANTHROPIC_"))]:
            patch.delenv(name)
        for name, value in {
            "HOME": str(folder),
            "LONGMIND_URL": url,
            "LONGMIND_EMBEDDER": "none",
            "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
            "PIP_RETRIES": "0",
        }.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        bench = Bench(url, folder, read_output)
        try:
            yield bench
        finally:
            with suppress(longmind.LongmindError):
                bench.close()
