"""The API in a browser: every operation has a page with all that the OpenAPI document says, and needs nothing else."""

from __future__ import annotations

import html
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import longmind
from longmind.server.openapi.parameter_notes import split_notes
from longmind.server.reference.schema_text import describe_type
from tests.server.browser import CHROMIUM, browsing
from tests.server.live_server import Answer, Client, serving
from tests.server.test_page import CURL
from tools import openapi

DESCRIPTION: dict[str, Any] = json.loads(openapi.PATH.read_text("utf-8"))
OPERATIONS: dict[str, Any] = {
    operation["operationId"]: operation for methods in DESCRIPTION["paths"].values() for operation in methods.values()
}
VOID = {"meta", "link", "input"}


class Page(HTMLParser):
    """A page, read strictly: every element is closed in order, and links and sources are collected."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.words = ""
        self.names: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        if tag not in VOID:
            self._open.append(tag)
        given = dict(attrs)
        assert not any(name.startswith("on") or name == "style" for name in given), given
        self.links += [str(given[name]) for name in ("href", "src", "action") if name in given]
        self.ids += [str(given["id"])] if "id" in given else []

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture(scope="module")
def server() -> Iterator[Client]:
    with longmind.open("sqlite:///:memory:", embedder=None) as engine, serving(engine) as client:
        yield client


def page(answer: Answer) -> Page:
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    return Page(answer.body.decode())


def test_the_overview_lists_every_operation_and_every_link_leads_somewhere(server: Client) -> None:
    overview = page(server.get("/docs"))
    assert {f"/docs/{id}" for id in OPERATIONS} <= set(overview.links)
    for link in sorted({link.partition("#")[0] for link in overview.links} - {""}):
        assert link.startswith("/"), link
        assert server.get(link).status == 200, link
    anchors = {link.partition("#")[2] for link in overview.links if "#" in link} - {"content"}
    assert anchors <= set(overview.ids)


@pytest.mark.parametrize("id", OPERATIONS)
def test_each_operation_has_a_page_with_its_parameters_examples_and_a_command(id: str, server: Client) -> None:
    operation = OPERATIONS[id]
    shown = page(server.get(f"/docs/{id}"))
    assert "script" not in shown.names
    assert all(each["name"] in shown.words for each in operation.get("parameters", ()))
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        assert json.dumps(content["example"], ensure_ascii=False, indent=2) in shown.words
        name = content["schema"].get("$ref", "").rpartition("/")[2]
        fields = (DESCRIPTION["components"]["schemas"][name] if name else content["schema"]).get("properties", {})
        assert all(field in shown.words for field in fields)
    assert all(status in shown.words for status in operation["responses"])
    for link in shown.links:
        if link.startswith("/docs/schemas/"):
            assert link.rpartition("/")[2] in DESCRIPTION["components"]["schemas"]


def test_each_shape_has_a_page_that_names_its_fields_and_its_users(server: Client) -> None:
    for name, schema in DESCRIPTION["components"]["schemas"].items():
        shown = page(server.get(f"/docs/schemas/{name}"))
        assert all(field in shown.words for field in schema.get("properties", {})), name
    assert "/docs/recallByTopic" in page(server.get("/docs/schemas/Recall")).links


def test_a_search_finds_operations_by_words_of_their_paths_names_and_descriptions(server: Client) -> None:
    found = page(server.get("/docs?q=recall+TOPIC"))
    listed = {link for link in found.links if link.removeprefix("/docs/") in OPERATIONS}
    assert "/docs/recallByTopic" in listed
    assert len(listed) < 10
    assert page(server.get("/docs?q=zebra")).words.count("0 operations for “zebra”") == 1
    assert len(page(server.get("/docs?q=++")).links) > len(OPERATIONS)


def test_what_is_asked_for_is_shown_as_text_and_never_as_markup(server: Client) -> None:
    attack = "<script>alert(1)</script>\"'{{version}}"
    for path in (f"/docs?q={attack}", "/docs/%3Cscript%3Ealert(1)%3C%2Fscript%3E"):
        answer = server.get(path.replace("<", "%3C").replace(">", "%3E").replace('"', "%22"))
        assert b"<script" not in answer.body
        page(answer)
    assert "{{version}}" in html.unescape(server.get(f"/docs?q={attack}".replace("<", "%3C")).body.decode())
    forged = server.get("/docs/getAtom", host='evil"; rm -rf /')
    assert forged.status == 400 or b"rm -rf" not in forged.body


def test_a_page_that_is_not_there_says_so_and_other_methods_are_refused(server: Client) -> None:
    for path in ("/docs/noSuchOperation", "/docs/schemas/NoSuchShape", "/docs/a%2Fb"):
        answer = server.get(path)
        assert (answer.status, "There is no such page" in page(answer).words) == (404, True)
    assert server.get("/docs/").status == 404
    refused = server.post("/docs", {})
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD")


def test_the_pages_need_no_key_and_then_show_commands_with_one(engine: longmind.Engine) -> None:
    with serving(engine) as client:
        assert "LONGMIND_KEY" not in page(client.get("/docs/listJobs")).words
    engine.keys.create(tenant_id="acme", app_id="support", any_user=True)
    with serving(engine) as client:
        assert client.get("/jobs").status == 401
        assert "curl " in page(client.get("/docs/listJobs")).words
        assert '-H "Authorization: Bearer $LONGMIND_KEY"' in page(client.get("/docs/listJobs")).words
        assert "longmind keys create" in page(client.get("/docs")).words


@pytest.mark.skipif(CURL is None, reason="curl is not installed")
def test_the_commands_can_be_pasted_into_a_shell(server: Client) -> None:
    sent = 0
    for id in OPERATIONS:
        if id in ("deleteUserData", "runTurn"):
            continue
        command = re.search(r"<h2>With curl</h2>\n<pre[^>]*>(.*?)</pre>", server.get(f"/docs/{id}").body.decode(), re.S)
        assert command is not None
        script = html.unescape(command[1]) + " -s -o /dev/null -w '%{http_code}'"
        assert shlex.split(script)[0] == "curl"
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
        # The ids in the examples are made up, but no request is malformed.
        assert done.stdout not in ("", "000", "405", "415", "500"), (id, done)
        sent += 1
    assert sent > 100


def test_notes_on_parameters_are_parted_from_the_description() -> None:
    text = """Do it.

    First comes this. limit: from 1 to 10. a, b: pass one
    of the two. Raises NotFound for an unknown note: none.

    Then that."""
    assert split_notes(text, ["a", "b", "limit", "c"]) == (
        "First comes this. Raises NotFound for an unknown note: none. Then that.",
        {"limit": "From 1 to 10.", "a": "Pass one of the two.", "b": "Pass one of the two."},
    )
    assert split_notes("Do it.\n\nlimit: a number.", ["limit"]) == ("", {"limit": "A number."})
    assert split_notes("Do it.", []) == ("", {})


def test_types_are_described_in_words() -> None:
    assert describe_type({"type": "integer", "minimum": 1, "maximum": 1000}) == "whole number from 1 to 1,000"
    assert describe_type({"type": ["string", "null"]}) == "text or null"
    assert describe_type({"anyOf": [{"type": "array", "items": {"enum": ["a<b"]}}, {"type": "null"}]}) == (
        "list of <code>&quot;a&lt;b&quot;</code>, or null"
    )
    assert describe_type({"$ref": "#/components/schemas/Atom-Input"}) == (
        '<a href="/docs/schemas/Atom-Input">Atom-Input</a>'
    )
    assert describe_type({}) == "any JSON"


@pytest.mark.patient
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_a_browser_shows_the_pages_without_complaint_in_both_schemes_and_on_a_phone(
    server: Client, tmp_path: Path
) -> None:
    with browsing(tmp_path) as browser:
        for path in (
            "/docs",
            "/docs/recallByTopic",
            "/docs/schemas/Atom",
            "/docs?q=events",
            "/docs/buildWorkingContext",
        ):
            papers = set()
            for width in (360, 768, 1400):
                for dark in (False, True):
                    browser.open(server.address + path, width=width, dark=dark)
                    assert browser.run("document.documentElement.scrollWidth <= innerWidth"), (path, width)
                    papers.add((dark, browser.run("getComputedStyle(document.body).backgroundColor")))
                    assert browser.run(CONTRAST) >= 4.5, (path, dark)
            assert papers == {(False, "rgb(255, 255, 255)"), (True, "rgb(20, 23, 27)")}
        browser.open(server.address + "/docs")
        browser.run("document.querySelector('#q').value = 'usage'; document.forms[0].submit()")
        while "q=usage" not in browser.run("location.href") or browser.run("document.readyState") != "complete":
            pass
        assert browser.run("document.querySelector('h1').textContent").endswith("for “usage”")
        # The policy lets nothing run, even if somebody found a way to bring it in.
        browser.run("document.body.insertAdjacentHTML('beforeend', '<img src=/docs onerror=\"window.hurt = 1\">')")
        assert browser.run("new Promise(done => setTimeout(() => done(window.hurt === undefined), 300))")
        refused = [each for each in browser.complaints if "Content Security Policy" in each]
        assert len(refused) >= 1
        assert browser.complaints == refused


CONTRAST = """(() => {
  const parts = text => text.match(/[0-9.]+/g).slice(0, 3).map(each => {
    const share = each / 255;
    return share <= .04045 ? share / 12.92 : ((share + .055) / 1.055) ** 2.4;
  });
  const light = text => { const [r, g, b] = parts(text); return .2126 * r + .7152 * g + .0722 * b };
  const paper = getComputedStyle(document.body).backgroundColor;
  return Math.min(...[...document.querySelectorAll("main *, header a, nav a, nav span")].map(each => {
    const values = [light(getComputedStyle(each).color), light(paper)].sort((a, b) => b - a);
    return (values[0] + .05) / (values[1] + .05);
  }));
})()"""
