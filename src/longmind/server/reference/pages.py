"""The pages at `/docs`: an overview with a search, one page for each operation, and one for each shape.

They show what `/openapi.json` says and nothing of anybody's memory, so like that document they need no credential. The
pages have no scripts: a search is a request of its own, and the content security policy allows only the style sheet.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs

import combustache
from starlette.routing import Route

from longmind.server.auth.identity import Authenticator
from longmind.server.endpoint import HttpResponse, refuse_method, send_response
from longmind.server.http.encoded_slashes import decode_slashes
from longmind.server.http.header_reader import RequestHeaders
from longmind.server.observability.middleware import OPERATION, Message, Receive, Send
from longmind.server.reference.views import DocumentView, View

DOCS_PATH = "/docs"
_MOST_QUERY = 200
_PAGE_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}
_STYLE_HEADERS = {"content-type": "text/css; charset=utf-8"}
_HOST = re.compile(r"[A-Za-z0-9.\-]+(:[0-9]+)?|\[[0-9A-Fa-f:.]+\](:[0-9]+)?")
_DEFAULT_HOST = "127.0.0.1:8000"


class ReferencePages:
    """The pages of one server.

    The document is arranged once; a page is rendered when it is asked for, which takes about a millisecond.
    """

    def __init__(self, document: dict[str, Any], authenticator: Authenticator) -> None:
        self._view = DocumentView(document)
        self._authenticator = authenticator

    def make_routes(self) -> list[Route]:
        """Return the routes of the pages; fixed names come before the names of operations."""
        return [
            Route(DOCS_PATH, PageEndpoint(self._show_overview)),
            Route(f"{DOCS_PATH}/style.css", PageEndpoint(_send_style)),
            Route(f"{DOCS_PATH}/schemas/{{name}}", PageEndpoint(self._show_shape)),
            Route(f"{DOCS_PATH}/{{name}}", PageEndpoint(self._show_operation)),
        ]

    def _show_overview(self, scope: Message) -> HttpResponse:
        text = scope["query_string"].decode("latin-1")
        query = " ".join(parse_qs(text).get("q", [""])[0][:_MOST_QUERY].split())
        view = self._view.list_operations(query, with_key=not self._authenticator.single_user)
        return self._make_page("index", view, "Search" if query else "Overview", query)

    # The commands on a page name the address that the browser has used, so that they can be pasted as they are.
    def _show_operation(self, scope: Message) -> HttpResponse:
        address = f"{scope.get('scheme', 'http')}://{_read_host(scope)}"
        view = self._view.view_operation(_read_name(scope), address, with_key=not self._authenticator.single_user)
        return self._make_missing(scope) if view is None else self._make_page("operation", view, view["id"])

    def _show_shape(self, scope: Message) -> HttpResponse:
        view = self._view.view_shape(_read_name(scope))
        return self._make_missing(scope) if view is None else self._make_page("shape", view, view["name"])

    def _make_missing(self, scope: Message) -> HttpResponse:
        return self._make_page("missing", {"path": decode_slashes(scope["path"])}, "Not found", status=404)

    def _make_page(self, template: str, view: View, title: str, query: str = "", status: int = 200) -> HttpResponse:
        layout = {
            "title": title,
            "query": query,
            "version": self._view.version,
            "services": self._view.services,
            "content": _read_template(template).render(view),
        }
        return HttpResponse(status, dict(_PAGE_HEADERS), _read_template("layout").render(layout).encode())


class PageEndpoint:
    """ASGI application of one kind of page. It waits for nothing, so it needs no thread."""

    def __init__(self, show: Any) -> None:
        self._show = show

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        scope[OPERATION] = "docs"
        if scope["method"] not in ("GET", "HEAD"):
            await send_response(send, refuse_method("GET, HEAD"))
            return
        await send_response(send, self._show(scope))


# Served as a file of its own, because the policy refuses styles within a page.
def _send_style(_: Message) -> HttpResponse:
    return HttpResponse(200, dict(_STYLE_HEADERS), _read_file("style.css").encode())


# Files of the package, read once: they do not change while the server runs.
@cache
def _read_template(name: str) -> combustache.Template:
    return combustache.Template(_read_file(f"{name}.mustache"))


@cache
def _read_file(name: str) -> str:
    return files("longmind.server.reference").joinpath(name).read_text("utf-8")


def _read_name(scope: Message) -> str:
    return decode_slashes(scope["path_params"]["name"])


def _read_host(scope: Message) -> str:
    """Return the host that the browser asked, for the commands on the page; anything else than a host is replaced."""
    headers = RequestHeaders(scope["headers"])
    host = headers.get("host") or ""
    return host if _HOST.fullmatch(host) else _DEFAULT_HOST
