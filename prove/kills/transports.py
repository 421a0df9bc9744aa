"""The ways to Longmind for the clients of the attack: in their own process, or over HTTP, with equal answers."""

from __future__ import annotations

import http.client
import json
import time
from copy import copy
from dataclasses import dataclass
from typing import Any

import longmind
from harness import operation_calls
from longmind.errors import LongmindError, StoreError, ToolError
from prove.kills.workload import Ask, AskIn, Lost, Refused

TENANT, APP = "acme", "kills"
_PATIENCE = 60.0
_SAID = ("expected_updated_at",)
"""Arguments that are sent even when they are None."""


def ask_in_process(engine: longmind.Engine, user: str) -> AskIn:
    """Ask an engine of this process."""

    def ask_in(session: str) -> Ask:
        def ask(path: str, *, as_agent: str | None = None, **given: Any) -> Any:
            context = engine.context(
                tenant_id=TENANT,
                app_id=APP,
                user_id=user,
                session_id=session,
                agent_id=as_agent,
                capabilities={"admin"},
            )
            try:
                if path == "keys.create":
                    return engine.keys.create(tenant_id=TENANT, app_id=APP, user_id=user, **given)
                if path == "keys.revoke":
                    return engine.keys.revoke(**given)
                return operation_calls.make_direct_call(context)(operation_calls.BY_PATH[path], given)
            except StoreError as error:
                raise Lost(str(error)) from error
            except ToolError as error:
                raise (Lost if error.retriable else Refused)(str(error)) from error
            except LongmindError as error:
                raise Refused(f"{type(error).__name__}: {error.message}") from error

        return ask

    return ask_in


@dataclass(frozen=True)
class ServerAnswer:
    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Requests:
    """Requests to a server on this machine, over one connection; when that breaks, so does this."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        self._headers = headers
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                self._connection.connect()
                return
            except OSError:
                # The server is still starting.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.002)

    def add_headers(self, **names: str | None) -> Requests:
        """Return requests over the same connection with further `X-Longmind-…` headers."""
        headed = copy(self)
        further = {f"x-longmind-{name}": value for name, value in names.items() if value is not None}
        headed._headers = {**self._headers, **further}
        return headed

    def close(self) -> None:
        self._connection.close()

    def ask(self, method: str, path: str, body: Any = None) -> ServerAnswer:
        sent = {**self._headers, **({} if body is None else {"content-type": "application/json"})}
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body).encode(), sent)
            response = self._connection.getresponse()
            answer = ServerAnswer(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            raise Lost(f"{type(error).__name__}: {error}") from error
        if answer.status >= 500:
            raise Lost(answer.body.decode())
        return answer


def ask_over_http(requests: Requests) -> AskIn:
    """Ask a server."""

    def ask_in(session: str) -> Ask:
        def ask(path: str, *, as_agent: str | None = None, **given: Any) -> Any:
            call = operation_calls.make_http_call(requests.add_headers(session=session, agent=as_agent))
            try:
                return call(
                    operation_calls.BY_PATH[path],
                    {name: value for name, value in given.items() if value is not None or name in _SAID},
                )
            except operation_calls.RequestRefused as refusal:
                raise Refused(str(refusal.args[1].body.decode())) from refusal

        return ask

    return ask_in
