"""The memory of one user on a server: the methods of `longmind.Memory`, with the same arguments, values and errors.

    with longmind.Client("ada", url="https://memory.example", key="rk_…") as memory:
        memory.add("I live in Vienna.")

Signatures and docstrings are those of `Memory`, so editors and type checkers show the same for both.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from longmind.aio.derivation import match_method
from longmind.client.archive_file import ARCHIVE_REQUEST, open_archive
from longmind.client.memory_requests import prepare_request, read_answer
from longmind.client.server_connection import open_connection
from longmind.client.transports import Transport
from longmind.errors import NotFound
from longmind.front_door.arguments import UserId, read_space, read_user
from longmind.front_door.memory import Memory
from longmind.front_door.memory_results import Added, Erasure, Forgetting, Found, RememberedFact
from longmind.models.profile import Profile
from longmind.settings import load_server
from longmind.validation.parameter_limits import Name


class Client:
    """The memory of one user on a server. Threads may share it; close it when done, or use it in a `with` statement."""

    def __init__(
        self,
        user: UserId | None = None,
        *,
        url: str | None = None,
        key: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        space: Name | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        longest_wait: float = 60.0,
    ) -> None:
        """Prepare the memory of a user on a server; nothing is sent yet.

        user: your own id of the user, needed with a key for any user. A key or token of one user names the user itself,
        and so does a server in single-user mode.
        url: the address of the server; by default `LONGMIND_SERVER`, or http://127.0.0.1:8000.
        key: an API key or a web token; by default `LONGMIND_KEY`. A server in single-user mode needs none.
        agent, session: recorded with what is written.
        space: a memory space by name or id, in place of the default one; a name that is new creates it.
        timeout: seconds to wait for a connection, and for each part of an answer.
        retries: how often a request is repeated that failed: one that never reached the server, one that the server
        refused for now (429 and 503), and after other failures one that changes nothing when it is repeated.
        longest_wait: the longest pause that a server may ask for; a longer one raises its error at once.

        Raises InvalidInput for a URL, a key or a number that cannot be used.
        """
        server = load_server(url, key)
        named = {"user": None if user is None else read_user(user), "agent": agent, "session": session}
        self._connection = open_connection(server.server, server.key, named, timeout, retries, longest_wait)
        self._space = read_space(space)
        self._user = named["user"]
        self._transport = Transport(self._connection)

    @match_method(Memory.add)
    def add(self, *args: Any, **options: Any) -> Added:
        return self._call("add", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.flush)
    def flush(self, *args: Any, **options: Any) -> int:
        return self._call("flush", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.search)
    def search(self, *args: Any, **options: Any) -> Found:
        return self._call("search", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.context)
    def context(self, *args: Any, **options: Any) -> str:
        return self._call("context", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.facts)
    def facts(self, *args: Any, **options: Any) -> list[RememberedFact]:
        return self._call("facts", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.profile)
    def profile(self, *args: Any, **options: Any) -> Profile:
        return self._call("profile", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.history)
    def history(self, *args: Any, **options: Any) -> list[RememberedFact]:
        return self._call("history", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.get)
    def get(self, *args: Any, **options: Any) -> RememberedFact | None:
        try:
            return self._call("get", *args, **options)  # type: ignore[no-any-return]
        except NotFound:
            return None

    @match_method(Memory.update)
    def update(self, *args: Any, **options: Any) -> RememberedFact:
        return self._call("update", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.forget)
    def forget(self, *args: Any, **options: Any) -> Forgetting:
        return self._call("forget", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.export)
    def export(self, path: str | Path | None = None) -> dict[str, Any]:
        if path is None:
            return self._call("export")  # type: ignore[no-any-return]
        lines: dict[str, int] = {}
        with open_archive(path, lines) as file:
            self._transport.send(ARCHIVE_REQUEST, file)
        return dict(lines)

    @match_method(Memory.erase)
    def erase(self, *args: Any, **options: Any) -> Erasure:
        return self._call("erase", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.tools)
    def tools(self, *args: Any, **options: Any) -> list[dict[str, Any]]:
        return self._call("tools", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.run_tool)
    def run_tool(self, *args: Any, **options: Any) -> dict[str, Any]:
        return self._call("run_tool", *args, **options)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close the connections to the server. Closing again does nothing."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __aenter__(self) -> NoReturn:
        raise TypeError("Client is synchronous. Write `with`, or use longmind.AsyncClient.")

    def __aexit__(self, *_: object) -> NoReturn:
        raise TypeError("Client is synchronous. Write `with`, or use longmind.AsyncClient.")

    def __repr__(self) -> str:
        return describe_client(self, self._user, self._connection.url)

    def _call(self, name: str, *args: Any, **options: Any) -> Any:
        answer = self._transport.send(prepare_request(name, self._space, args, options))
        return read_answer(name, answer)


def describe_client(client: object, user: str | None, url: str) -> str:
    """Return the representation of a client, without its key."""
    whose = "" if user is None else f"{user!r}, "
    return f"{type(client).__name__}({whose}{url})"
