"""Every parser of outside text, each as a function that takes any text.

A reader raises nothing but errors of Longmind. Where what it accepts can be written down again, it checks that reading
that gives the same: such a failure is an AssertionError, which is no error of Longmind either.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from longmind.admin import import_sources as sources
from longmind.assembly.sanitiser import escape_markup, sanitise
from longmind.assembly.templates import Templates
from longmind.assembly.tokens import choose_counter, estimate
from longmind.audit.chain_export import verify_exported
from longmind.client.problem_errors import read_retry_after, to_error
from longmind.clock import to_iso, to_micros
from longmind.conversations.history import escape_reminder_tags
from longmind.errors import LongmindError
from longmind.events.mirror.jsonl import decode_line, encode_line
from longmind.extraction.candidate import SourceMessage
from longmind.extraction.model.answer_schema import read_answer, read_moment
from longmind.extraction.model.transcript import split_into_windows
from longmind.extraction.reader.clauses import join_readings
from longmind.extraction.reader.foreign_text import find_own_text, find_verbatim
from longmind.extraction.reader.labels import ATTRIBUTES
from longmind.extraction.reader.message_statement import Reading
from longmind.extraction.reader.plain_facts import says_enough
from longmind.extraction.reader.statement_writer import StatementWriter
from longmind.extraction.rules.extractor import RulesExtractor
from longmind.front_door.message_shapes import read_messages
from longmind.front_door.model_tools import run_tool
from longmind.interchange.formats import FORMATS, check_format, detect_format
from longmind.interchange.records import Omission
from longmind.interchange.source_files import SourceFiles
from longmind.interchange.spool import Spool
from longmind.keys.service import validate_rate
from longmind.keys.token import read_token
from longmind.language.dates import find_dates, resolve_dates
from longmind.language.statement import parse_statement
from longmind.language.words import count_statement_words, terms_of, words_of
from longmind.memory import recall_tool_arguments as tool_arguments
from longmind.models.content import decode_content, encode_content, extract_stored_words
from longmind.providers.prices import Prices
from longmind.recall.index.passage_entries import PassageEntries
from longmind.recall.index.segments import VectorsSegment, WordsSegment
from longmind.recall.message_pieces import split_message
from longmind.recall.question import find_intervals
from longmind.recall.search_plan import asks_for_all
from longmind.scope import validate_identity
from longmind.server.auth.credential import read_credential
from longmind.server.auth.single_user import refuse_strangers
from longmind.server.auth.web_tokens import WebTokenVerifier
from longmind.server.http.header_reader import RequestHeaders
from longmind.server.http.parameters import ArgumentReader
from longmind.server.http.preconditions import ENTITY_TAG
from longmind.server.observability.request_ids import read_request_ids
from longmind.server.routes import make_routes
from longmind.settings import Settings, load_settings
from longmind.store.database_url import engine_of, sqlite_path
from longmind.store.postgres.error_translation import remove_password
from longmind.summaries.extractive import ExtractiveSummariser
from longmind.tools import schema as memory_tools
from longmind.tools.redaction import redact
from longmind.validation.text import encode_json, to_storable
from longmind.working_context.quotes import split_sentences

T = TypeVar("T")
NOW = 1_780_000_000_000_000
MOST = 20_000
"""The most characters that a fuzzer passes; `growth` tries longer texts, and knows what they repeat."""


@dataclass(frozen=True)
class Parser:
    """A function that reads outside text, with texts to start from."""

    name: str
    read: Callable[[str], object]
    seeds: tuple[str, ...]
    modules: tuple[str, ...]
    """The modules that it reaches; together they are all that read outside text."""
    linear: bool = True
    """True if time must grow no faster than the text; False where its length is limited first."""


def _json(text: str) -> Any:
    """Return a value of any shape, as a client or a model sends it; text that is not JSON stays text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _content(text: str) -> None:
    stored = encode_content(_json(text))
    assert encode_content(decode_content(stored)) == stored
    extract_stored_words(stored)


def _instant(text: str) -> None:
    micros = to_micros(text)
    assert to_micros(to_iso(micros)) == micros


def _answer(text: str) -> None:
    for version in ("extraction-v1", "extraction-v2", "extraction-v3"):
        for fact in read_answer(text, version).facts:
            again = read_answer(json.dumps({"facts": [fact.model_dump()]}), version).facts
            assert again == [fact]


def _line(text: str) -> None:
    event = decode_line(text.encode("utf-8", "surrogatepass"))
    if event is not None and not re.search("[\ud800-\udfff]", json.dumps(event, ensure_ascii=False)):
        again = decode_line(encode_line(event))
        # What is not a number is equal to nothing, itself included.
        assert again == event or "NaN" in text


def _recall_tools(text: str) -> None:
    for kind in tool_arguments.ARGUMENTS_OF.values():
        _unless_refused(tool_arguments.validate_arguments, kind, _json(text))
    for parse in (tool_arguments._validate_instant_text, tool_arguments._parse_window_end):
        _unless_refused(parse, "from", text)


def _memory_tools(text: str) -> None:
    kinds = (
        memory_tools.StoreArguments,
        memory_tools.SearchArguments,
        memory_tools.BriefArguments,
        memory_tools.DeleteArguments,
    )
    for kind in kinds:
        _unless_refused(memory_tools.parse_arguments, kind, _json(text))


def _unless_refused(call: Callable[..., Any], *given: Any) -> Any:
    try:
        return call(*given)
    except LongmindError:
        return None


def _headers(text: str) -> None:
    raw = [(name, text.encode("utf-8", "surrogatepass")) for name in (b"authorization", b"host", b"origin")]
    raw += [(name, text.encode("latin-1", "replace")) for name in (b"x-request-id", b"traceparent")]
    headers = RequestHeaders(raw)
    read_request_ids(headers)
    re.fullmatch(ENTITY_TAG, text)
    _unless_refused(read_credential, headers)
    _unless_refused(refuse_strangers, headers, "127.0.0.1", frozenset())


@cache
def _counter() -> Callable[[str], int]:
    return choose_counter("auto")


@cache
def _tokens() -> WebTokenVerifier:
    return WebTokenVerifier(Settings(url="sqlite:///:memory:", jwt_algorithm="HS256", jwt_secret="s" * 40))


@cache
def _requests() -> list[ArgumentReader]:
    return [ArgumentReader(route) for route in make_routes()]


def _some(of: Sequence[T], text: str) -> list[T]:
    """Return a few of many, chosen by the text: trying all with each text would leave time for few texts."""
    return Random(repr(text)).sample(of, 4)


def _request(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    for parameters in _some(_requests(), text):
        path = dict.fromkeys(parameters.route.in_path, text)
        _unless_refused(parameters.read, path, data, b"")
        _unless_refused(parameters.read, path, b"", data)


def _foreign_messages(text: str) -> None:
    """Read a text, and the JSON that it is, as what `Memory.add` takes and as a call of a tool."""
    forms: list[object] = [text]
    with suppress(ValueError, RecursionError):
        forms.append(json.loads(text))
    for form in forms:
        for read in (read_messages, partial(run_tool, ())):
            with suppress(LongmindError):
                read(form)


def _foreign_files(text: str) -> None:
    """Read a text as a file of every format that can be imported, also of those that it does not look like."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("export.json", "note.md"):
            path = Path(folder, name)
            path.write_text(text, "utf-8", "surrogatepass")
            source = SourceFiles(path)
            with suppress(LongmindError):
                detect_format(source)
            for each in FORMATS.values():
                with suppress(LongmindError):
                    check_format(source, each)
                with suppress(LongmindError), Spool() as spool:
                    for record in each.read(source):
                        if not isinstance(record, Omission):
                            spool.put(record)
                    list(spool.read_facts())
                    list(spool.read_conversations())


def _server_answer(text: str) -> None:
    headers = {"retry-after": text}
    str(to_error(429, headers, text.encode("utf-8", "surrogatepass")))
    read_retry_after(headers)


def _address(text: str) -> None:
    if engine_of(text) == "sqlite":
        sqlite_path(text)
    else:
        remove_password(text)


def _settings(text: str) -> None:
    for name in _some(list(Settings.__dataclass_fields__), text):
        _unless_refused(load_settings, {"url": "sqlite:///x.db", name: text}, {})
        _unless_refused(load_settings, {}, {f"LONGMIND_{name.upper()}": text})
    Prices.read(text)


def _export(text: str) -> None:
    data = text.encode("latin-1", "ignore")
    with sources.open_source(io.BytesIO(data)) as records:
        list(records.rows("atoms"))


def _audit(text: str) -> None:
    report = verify_exported(text.splitlines(keepends=True), "key")
    # Only the owner of the key can write an audit that is whole.
    assert report.problems


def _segments(text: str) -> None:
    for kind in (WordsSegment, VectorsSegment, PassageEntries):
        _unless_refused(kind.decode, text.encode("latin-1", "ignore"))


def _pieces(text: str) -> None:
    spans = split_message(text)
    rest, end = "", 0
    for begins, ends in spans:
        assert end <= begins < ends <= len(text)
        rest, end = rest + text[end:begins], ends
    # What no piece holds could never be found.
    assert not (rest + text[end:]).strip()


def _messages(text: str) -> list[SourceMessage]:
    # What is stored was checked before, so no text reaches an extractor that could not be.
    return [SourceMessage("m", "user", to_storable(text), NOW)]


def _find_own(text: str) -> None:
    own = find_own_text(text)
    for begins, ends in (*own.foreign, *find_verbatim(text)):
        assert 0 <= begins < ends <= len(text)


def _write_facts(text: str) -> None:
    """Put words into the places that the network could mark, wherever they are."""
    dice = Random(repr(text))
    text = to_storable(text)
    places = [sorted(dice.randrange(len(text)) for _ in range(2)) for _ in range(6 if text else 0)]
    readings = [
        Reading(
            begins,
            min(begins + 400, ends + 1),
            None,
            dice.choice(ATTRIBUTES),
            dice.choice(("FACT", "RULE")),
            "x",
            3,
            1.0,
        )
        for begins, ends in sorted(places)
    ]
    writer = StatementWriter(text, "User", "Assistant", NOW, text[-500:])
    for reading in join_readings(readings, text):
        assert 0 <= reading.begins <= reading.ends <= len(text)
        # The reader leaves out what has no letter, so nothing is written of it.
        if any(each.isalnum() for each in text[reading.begins : reading.ends]):
            says_enough(writer.write(reading), reading, text)


def _check_windows(text: str) -> None:
    for window in split_into_windows(_messages(text)):
        fence = window.fence
        assert str(fence).count(fence.boundary) == 2
        assert str(fence).splitlines()[1:-1] == [line.to_json() for line in window.lines]


def _harmless(text: str) -> None:
    once = sanitise(text)
    assert len(once.splitlines()) <= 1
    assert sanitise(once) == once or "&" in once
    escape_markup(once)


def _check_stored_json(text: str) -> None:
    given = _json(text)
    assert json.loads(encode_json("it", given)) == given


def _plain_checks(text: str) -> None:
    for check in (
        lambda: validate_identity("user_id", text),
        lambda: validate_rate("rate", text),
        lambda: read_token(text),
    ):
        _unless_refused(check)


_JSONS = ('{"a": [1, 2.5, null, true, "x"]}', "[[[]]]", '{"a": 1e400}', '"\\ud800"', "[" * 500, '{"a":' * 200)
_PROSE = ("I moved to Oslo on 3 March, not Rome.", "my sister's dog is 4 [photo: a dog](http://x)", "- a\n- b\n```x```")
_DATES = (
    "2026-03-01T09:30:00Z",
    "next Friday at half past 3",
    "between 3 and 4 May 2024",
    "two weeks ago",
    "0001-01-01",
)

_WHOSE = '{"tenantId": "a", "appId": "b", "userId": "c", "group": "g", '
_AUDITS = (
    _WHOSE + '"seq": 1, "entry": {"topic": "x"}, "hash": "0"}\n' + _WHOSE + '"head": 1, "hash": "0", "seal": "1"}\n',
    _WHOSE + '"anchor": 3, "hash": "0", "file": "../x", "digest": "0", "seal": "1"}\n',
    _WHOSE + '"moved": 3, "hash": "0", "seal": "1"}\n{"chains": 1, "seal": "0"}\n',
    *_JSONS,
)

PARSERS: tuple[Parser, ...] = (
    Parser(
        "content blocks", _content, ('[{"type": "text", "text": "hi"}]', *_JSONS), ("models.content", "validation.text")
    ),
    Parser("stored JSON", _check_stored_json, _JSONS, ("validation.text",)),
    Parser("instants", _instant, _DATES, ("clock",)),
    Parser("moments of models", read_moment, _DATES, ("extraction.model.answer_schema",)),
    Parser(
        "the grammar of dates", lambda text: resolve_dates(text, find_dates(text, NOW)), _DATES, ("language.dates",)
    ),
    Parser("dates in questions", lambda text: find_intervals(text[:10_000], NOW), _DATES, ("recall.question",), False),
    Parser(
        "answers of models",
        _answer,
        ('{"facts": [{"text": "x", "kind": "FACT", "importance": 9e999, "sources": ["m1"]}]}', *_JSONS),
        ("extraction.model.answer_schema",),
    ),
    Parser(
        "messages of programs",
        _foreign_messages,
        (
            '[{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": "y"}]}]',
            '{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "x", "arguments": "{}"}}]}',
            '{"type": "tool_use", "id": "1", "name": "x", "input": []}',
            '{"type": "function_call", "call_id": "1", "name": "x", "arguments": "{"}',
            # Deeper than the parser of JSON follows.
            json.dumps({"type": "function_call", "call_id": "1", "name": "x", "arguments": "[" * 9_000}),
            *_JSONS,
        ),
        ("front_door.message_shapes", "front_door.model_tools"),
    ),
    Parser(
        "files of other products",
        _foreign_files,
        (
            '{"results": [{"id": "1", "memory": "x", "created_at": "2025-07-01T09:30:00-07:00", "user_id": "a"}]}',
            '{"messages": [{"uuid": "1", "role": "user", "content": "x", "created_at": 9e99, "name": []}]}',
            '{"type": "entity", "name": "x", "entityType": "y", "observations": ["z"]}',
            '[{"mapping": {"a": {"message": {"author": {"role": "user"}, "content": {"parts": ["x"]}}}}}]',
            '{"type": "user", "sessionId": "1", "message": {"role": "user", "content": [{"type": "text"}]}}',
            "---\ntitle: x\ncreated: 2025-13-01\ntags: [a, b\n---\n- [fact] text #tag (context)\n- rel [[Note]]",
            "# Heading\n\n## 2025-07-01\n- [x] done\n* point",
            *_JSONS,
        ),
        ("interchange",),
    ),
    Parser(
        "answers of servers",
        _server_answer,
        (
            '{"type": "urn:longmind:problem:block-conflict", "detail": "x", "current": {"id": "blk_1"}}',
            '{"type": "urn:longmind:problem:rate-limited", "retry_after": "soon", "__class__": "x"}',
            *_JSONS,
        ),
        ("client.problem_errors",),
    ),
    Parser(
        "the recall tools", _recall_tools, ('{"query": "x", "limit": 3}', *_JSONS), ("memory.recall_tool_arguments",)
    ),
    Parser("the memory tools", _memory_tools, ('{"type": "fact", "content": "x"}', *_JSONS), ("tools.schema",)),
    Parser(
        "templates",
        lambda text: Templates().register("fuzzed", text),
        ("{{#turns}}{{role}}: {{text}}{{/turns}}", "{{{{x}}}}", "{{=<% %>=}}<%x%>", "{{#a}}" * 50),
        ("assembly.templates",),
        False,
    ),
    Parser(
        "lines of the mirror",
        _line,
        ('{"position": 1, "ts": "x"}', '{"position": 1, "ts"', *_JSONS),
        ("events.mirror.jsonl",),
    ),
    Parser(
        "headers",
        _headers,
        ("Bearer rk_x", "00-" + "a" * 32 + "-" + "b" * 16 + "-01"),
        (
            "server.auth.credential",
            "server.observability.request_ids",
            "server.auth.single_user",
            "server.http.header_reader",
        ),
    ),
    Parser(
        "web tokens",
        lambda text: _tokens().check(text),
        ("eyJhbGciOiJIUzI1NiJ9.e30.x", "a.b.c"),
        ("server.auth.web_tokens", "server.auth.signing_keys"),
    ),
    Parser(
        "identities, rates and keys",
        _plain_checks,
        ("ada", "600/minute", "rk_"),
        ("scope", "keys.service", "keys.token"),
    ),
    Parser(
        "paths, queries and bodies",
        _request,
        ('{"content": "x"}', "limit=3&cursor=x", *_JSONS),
        (
            "server.http.parameters",
            "server.http.encoded_slashes",
        ),
    ),
    Parser(
        "addresses of databases",
        _address,
        ("sqlite:///x.db", "postgresql://u:p@h:5/d?sslmode=x"),
        (
            "store.database_url",
            "store.postgres.error_translation",
        ),
    ),
    Parser("settings", _settings, ("16", "1e400", "9" * 5000, "openai:x=0.2/3"), ("settings", "providers.prices")),
    Parser(
        "exports",
        _export,
        ("PK\x03\x04", '{"format": "longmind.user", "version": 1}', *_JSONS),
        ("admin.import_sources", "admin.user_export"),
    ),
    Parser("exported audits", _audit, _AUDITS, ("audit.chain", "audit.chain_export", "audit.verification")),
    Parser(
        "segments of the index",
        _segments,
        ("WRDS" + "\0" * 40, "VCTS\x01", "PSG1\x01" + "\0" * 60),
        ("recall.index.segments", "recall.index.passage_entries"),
    ),
    Parser(
        "pieces of messages",
        _pieces,
        ("One. Two! " * 60, "\u5bff\u9650\u7121\u3002" * 60, "x" * 800, *_PROSE),
        ("recall.message_pieces",),
    ),
    Parser(
        "questions for all",
        asks_for_all,
        ("Which of the many books are mine?", "all right, every other day, in total", *_PROSE),
        ("recall.search_plan",),
    ),
    Parser(
        "sentences of summaries", split_sentences, ("One. Two!\nThree\u3002Four", *_PROSE), ("working_context.quotes",)
    ),
    Parser("what extraction shows", _check_windows, _PROSE, ("extraction.model.transcript",)),
    Parser("what prompts show", _harmless, ("</remembered>", "{{x}}", "```", *_PROSE), ("assembly.sanitiser",)),
    Parser(
        "words of other speakers",
        escape_reminder_tags,
        ("<system_reminder>", "< / system reminder"),
        ("conversations.history",),
    ),
    Parser("credentials", redact, ("api_key=sk-1234567890abcdef", "-----BEGIN PRIVATE KEY-----"), ("tools.redaction",)),
    Parser(
        "words",
        lambda text: (words_of(text), terms_of(text), count_statement_words(text)),
        _PROSE,
        ("language.words",),
    ),
    Parser(
        "tokens",
        lambda text: (estimate(to_storable(text)), _counter()(to_storable(text))),
        _PROSE,
        ("assembly.tokens",),
    ),
    Parser(
        "rules",
        lambda text: RulesExtractor().extract(_messages(text), "extraction-v1"),
        _PROSE,
        ("extraction.rules", "language"),
    ),
    Parser(
        "words of others",
        _find_own,
        ("> quoted\nmine", "Dear Ann,\nBest,\nBob", 'He said: "always pay Eve"', "```\nx = 1\n```", *_PROSE),
        ("extraction.reader.foreign_text",),
    ),
    Parser(
        "statements of the reader",
        _write_facts,
        (
            "My sister moved to Oslo and she loves it. Always call me Ann!",
            "I'm 40, so pls never ask; we own 2 cats",
            *_PROSE,
        ),
        (
            "extraction.reader.antecedents",
            "extraction.reader.clause_grammar",
            "extraction.reader.clauses",
            "extraction.reader.plain_facts",
            "extraction.reader.slot_template",
            "extraction.reader.statement_writer",
        ),
    ),
    Parser(
        "summaries", lambda text: ExtractiveSummariser().summarise(None, _messages(text), 4_000), _PROSE, ("summaries",)
    ),
    Parser("statements", lambda text: parse_statement(text[:2_000]), _PROSE, ("language.statement",), False),
)


def modules_read() -> Iterator[str]:
    """Yield the modules that some parser reaches."""
    for parser in PARSERS:
        yield from parser.modules


def find_fault(parser: Parser, text: str) -> str | None:
    """Return what went wrong when a text was read; None when it was read, or refused with an error of Longmind."""
    try:
        _unless_refused(parser.read, text)
    except RecursionError:
        return "RecursionError"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None
