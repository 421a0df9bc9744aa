"""What becomes an atom, what does not, and that many are added whole or not at all."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from itertools import product
from typing import Any

import pytest

import longmind
from longmind import Category, NewAtom
from longmind.memory import Memory
from tests.clock import SettableClock
from tests.memory.facts import at_once, fact, found, kinds_since, looked_up

MEGABYTE = 1024 * 1024


@pytest.mark.conforms("A3.1", "A3.2", "A3.3", "A3.9", "A3.10", "A1.24")
def test_an_atom_has_what_was_not_said_by_default(memory: Memory, space: longmind.MemorySpace) -> None:
    atom = memory.add_atom(space.id, {"text": "Ada lives in Graz.", "category": {"name": "home", "kind": "FACT"}})
    assert atom.id.startswith("atom_")
    assert atom.memory_space_id == space.id
    assert (atom.tenant_id, atom.app_id, atom.user_id) == ("acme", "support", "ada")
    assert (atom.text, atom.category.name, atom.category.kind) == ("Ada lives in Graz.", "home", "FACT")
    assert (atom.importance, atom.confidence, atom.status) == (3, 1.0, "ACTIVE")
    assert atom.valid_from == atom.created_at == atom.updated_at == "2026-03-01T09:30:00.000000Z"
    assert atom.valid_to is None
    assert (atom.source_conversation_id, atom.source_message_ids, atom.entity_ids, atom.tags) == (None, [], [], [])
    assert (atom.supersedes, atom.superseded_by, atom.superseded_at, atom.archived_at) == (None, None, None, None)
    assert (atom.origin, atom.trust, atom.behavioral) == ("app", "app", False)
    assert memory.get_atom(atom.id) == atom
    assert memory.get_atom("atom_none") is None


@pytest.mark.parametrize(
    "said",
    [
        {"tags": ["city", "past", "city"], "importance": 5, "confidence": 0.25},
        {"tags": [], "speaker": None, "valid_from": None, "confidence": 1},
        {"speaker": "Grace", "origin": "import", "trust": "assistant", "created_at": "2020-06-01T00:00:00Z"},
        {"valid_from": "2020-01-01", "valid_to": "2021-01-01T12:00:00+02:00", "search_context": ["Where?", "", "Graz"]},
        {"search_context": "Grüß dich", "text": "Ada's naïve café.", "category": {"kind": "RULE", "name": "größe"}},
    ],
)
def test_a_dict_says_the_same_as_a_value_made_of_it(
    memory: Memory, space: longmind.MemorySpace, said: dict[str, Any]
) -> None:
    given = {"text": "Ada lives in Graz.", "category": {"name": "home", "kind": "FACT"}, **said}
    atoms = memory.add_atoms(space.id, [given, NewAtom.model_validate(given), given])
    assert len({atom.model_copy(update={"id": ""}).model_dump_json() for atom in atoms}) == 1
    assert [memory.get_atom(atom.id) for atom in atoms] == atoms


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": "\ud800"}, {"text": " "}, {"text": b"x"}, {"tags": "city"}, {"tags": [""]}, {"tags": ["a", 1]},
        {"importance": True}, {"importance": 6}, {"confidence": float("nan")}, {"confidence": "1"},
        {"trust": "nobody"}, {"trust": []}, {"origin": None}, {"category": {"title": "home"}},
        {"category": {"name": "home", "kind": "PATTERN"}},
        {"category": {"name": "", "kind": "FACT"}}, {"category": {"name": "home", "kind": []}}, {"valid_from": 5},
        {"created_at": "2999-01-01"}, {"valid_to": "1999-01-01"}, {"search_context": [None]}, {"unknown": 1},
    ],
)  # fmt: skip
def test_one_that_is_wrong_among_many_is_named_and_none_is_kept(
    memory: Memory, space: longmind.MemorySpace, wrong: dict[str, Any]
) -> None:
    with pytest.raises(longmind.InvalidInput, match=r"atoms\[1\]\."):
        memory.add_atoms(space.id, [fact("Ada likes tea."), {**fact("Ada likes coffee."), **wrong}])
    assert memory.list_atoms(space.id) == []


@pytest.mark.parametrize(
    "unchecked",
    [
        {"category": {"name": "taste", "kind": "no kind"}},
        {"category": Category.model_construct(name="taste", kind="no kind")},
        {"trust": "nobody"},
        {"origin": "nowhere"},
    ],
)
def test_what_was_put_into_a_value_unchecked_is_not_kept(
    memory: Memory, space: longmind.MemorySpace, unchecked: dict[str, Any]
) -> None:
    known = memory.add_atom(space.id, NewAtom.model_validate(fact("Ada likes tea.")))
    [name] = unchecked
    with pytest.raises(longmind.InvalidInput, match=f"atom.{name}"):
        memory.add_atom(space.id, NewAtom.model_validate(fact("Ada likes coffee.")).model_copy(update=unchecked))
    assert found(memory, space.id, "tea") == [known.text]


@pytest.mark.parametrize(
    ("unchecked", "named"),
    [
        ({"confidence": "high"}, "confidence"),
        ({"confidence": None}, "confidence"),
        ({"importance": None}, "importance"),
        ({"text": 5}, "text"),
        ({"text": None}, "text"),
        ({"trust": ["a"]}, "trust"),
        ({"origin": {}}, "origin"),
        ({"category": None}, "category"),
        ({"category": Category.model_construct(name="taste", kind=["a"])}, "category.kind"),
        ({"category": Category.model_construct(name=5, kind="FACT")}, "category.name"),
        ({"search_context": 5}, "search_context"),
        ({"search_context": [5]}, "search_context"),
        ({"tags": 5}, "tags"),
        ({"tags": [[]]}, "tags"),
        ({"entity_ids": None}, "entity_ids"),
        ({"source_message_ids": 5}, "source_message_ids"),
        ({"source_conversation_id": 5}, "source_conversation_id"),
        ({"speaker": 5}, "speaker"),
        ({"valid_from": 5}, "valid_from"),
        ({"created_at": []}, "created_at"),
        ({"text": ...}, "text"),
    ],
)
def test_a_value_that_nobody_has_checked_is_refused_by_the_name_of_its_field(
    memory: Memory, space: longmind.MemorySpace, unchecked: dict[str, Any], named: str
) -> None:
    fields = {"text": "Ada likes tea.", "category": Category(name="taste", kind="FACT"), **unchecked}
    wrong = NewAtom.model_construct(**{name: value for name, value in fields.items() if value is not ...})
    with pytest.raises(longmind.InvalidInput, match=rf"atom\.{named}\b"):
        memory.add_atom(space.id, wrong)
    with pytest.raises(longmind.InvalidInput, match=rf"atoms\[1\]\.{named}\b"):
        memory.add_atoms(space.id, [fact("Ada likes coffee."), wrong])
    assert memory.list_atoms(space.id) == []


@pytest.mark.conforms("A3.1", "A3.9", "A3.15")
def test_everything_that_is_said_of_an_atom_is_kept(engine: longmind.Engine, memory: Memory) -> None:
    ctx = engine.context(
        tenant_id="acme", app_id="support", user_id="ada", agent_id="a", group="g", session_id="s", run_id="r"
    )
    space = memory.create_memory_space("personal")
    place = memory.create_entity(space.id, "PLACE", "Graz")
    given = NewAtom(
        text="Ada lived in Graz.",
        category=longmind.Category(name="home", kind="EPISODE"),
        importance=5,
        confidence=0.25,
        valid_from=datetime(2020, 1, 1, 12, tzinfo=timezone(timedelta(hours=2))),
        valid_to="2021-01-01",
        entity_ids=[place.id],
        tags=["city", "past", "city"],
        origin="import",
        trust="user",
        created_at="2020-06-01T00:00:00Z",
    )
    atom = ctx.memory.add_atom(space.id, given)
    assert (atom.text, atom.category, atom.importance, atom.confidence) == (given.text, given.category, 5, 0.25)
    assert (atom.valid_from, atom.valid_to) == ("2020-01-01T10:00:00.000000Z", "2021-01-01T00:00:00.000000Z")
    assert atom.created_at == "2020-06-01T00:00:00.000000Z"
    assert (atom.entity_ids, atom.tags) == ([place.id], ["city", "past"])
    assert (atom.origin, atom.trust) == ("import", "user")
    assert (atom.agent_id, atom.group, atom.session_id, atom.run_id) == ("a", "g", "s", "r")
    assert memory.get_atom(atom.id) == atom


@pytest.mark.conforms("A3.9")
def test_an_atom_can_be_given_in_the_names_of_its_json(memory: Memory, space: longmind.MemorySpace) -> None:
    atom = memory.add_atom(space.id, fact(validFrom="2020-01-01T00:00:00Z", sourceMessageIds=[], searchContext="near"))
    assert atom.valid_from == "2020-01-01T00:00:00.000000Z"


@pytest.mark.conforms("A3.8")
def test_the_kinds_are_fixed_and_tell_how_an_agent_is_to_take_them(memory: Memory, space: longmind.MemorySpace) -> None:
    for kind in ("FACT", "RULE", "INTENTION", "EPISODE", "PREFERENCE"):
        atom = memory.add_atom(space.id, fact(f"A {kind}.", kind, name=f"a name for {kind}"))
        assert (atom.category.kind, atom.behavioral) == (kind, kind in ("RULE", "PREFERENCE"))


@pytest.mark.conforms("A3.8")
def test_a_pattern_is_made_by_the_platform_alone(memory: Memory, space: longmind.MemorySpace) -> None:
    old = memory.add_atom(space.id, fact())
    pattern = fact("Ada drinks tea every morning.", "PATTERN")
    for refused in (
        lambda: memory.add_atom(space.id, pattern),
        lambda: memory.add_atom(space.id, NewAtom.model_validate(pattern)),
        lambda: memory.add_atoms(space.id, [fact(), pattern]),
        lambda: memory.supersede_atom(old.id, pattern),
    ):
        with pytest.raises(longmind.InvalidInput, match="PATTERN"):
            refused()
    assert memory.list_atoms(space.id) == [old]


@pytest.mark.conforms("A3.7")
def test_each_kind_fades_at_its_own_pace(memory: Memory, space: longmind.MemorySpace, clock: SettableClock) -> None:
    for kind in ("FACT", "RULE", "INTENTION", "EPISODE", "PREFERENCE"):
        memory.add_atom(space.id, fact(f"{kind} about tea.", kind))
    clock.advance(60 * 24 * 3600)
    weights = {hit.atom.category.kind: hit.decay_weight for hit in memory.recall_by_topic(space.id, "tea").hits}
    slow = 0.5 ** (60 / 365)
    assert weights == pytest.approx(
        {"FACT": slow, "RULE": slow, "PREFERENCE": slow, "INTENTION": 0.5, "EPISODE": 0.25}, abs=1e-5
    )


REFUSED: list[dict[str, Any]] = [
    {"text": ""},
    {"text": " \n\t"},
    {"text": "a\x00b"},
    {"text": "a\ud800b"},
    {"text": "x" * (MEGABYTE + 1)},
    {"text": None},
    {"text": 5},
    {"text": b"bytes"},
    {"category": None},
    {"category": {"name": " ", "kind": "FACT"}},
    {"category": {"name": "n" * 256, "kind": "FACT"}},
    {"category": {"name": "notes", "kind": "fact"}},
    {"category": {"name": "notes", "kind": "FACT", "colour": "red"}},
    {"importance": 0},
    {"importance": 6},
    {"importance": 2.5},
    {"importance": "3"},
    {"importance": True},
    {"importance": None},
    {"confidence": -0.1},
    {"confidence": 1.1},
    {"confidence": float("nan")},
    {"confidence": float("inf")},
    {"confidence": "0.5"},
    {"confidence": True},
    {"valid_from": "yesterday"},
    {"valid_from": 1_700_000_000},
    {"valid_from": "0001-01-01T00:00:00+14:00"},
    {"valid_from": "2026-01-01T00:00:00Z", "valid_to": "2025-01-01T00:00:00Z"},
    {"valid_from": "2026-01-01T00:00:00Z", "valid_to": "2026-01-01T00:00:00Z"},
    {"valid_to": "2026-03-01T09:29:59Z"},
    {"created_at": "2026-03-01T09:30:00.000001Z"},
    {"source_conversation_id": "conv_none"},
    {"source_conversation_id": "a\x00b"},
    {"source_conversation_id": "\ud800"},
    {"source_message_ids": ["msg_none"]},
    {"source_message_ids": "msg_none"},
    {"source_message_ids": ["a\x00b"]},
    {"source_message_ids": [5]},
    {"entity_ids": ["ent_none"]},
    {"entity_ids": ["\ud800"]},
    {"tags": "city"},
    {"tags": [""]},
    {"tags": ["t" * 256]},
    {"tags": [f"{number}" for number in range(1001)]},
    {"search_context": "a\x00b"},
    {"search_context": [5]},
    {"speaker": ""},
    {"origin": "nowhere"},
    {"trust": "blind"},
    {"colour": "red"},
    {"status": "ARCHIVED"},
    {"id": "atom_1"},
]


@pytest.mark.conforms("A3.9")
def test_what_cannot_be_an_atom_is_refused_and_nothing_is_written(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    old = memory.add_atom(space.id, fact("Kept."))
    cursor = engine.last_cursor()
    for fields in REFUSED:
        bad = {**fact(), **fields}
        # Shown when it is not refused.
        print(repr(fields)[:100])
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded)):
            memory.add_atom(space.id, bad)
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded)):
            memory.add_atoms(space.id, [fact("Before."), bad, fact("After.")])
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded)):
            memory.supersede_atom(old.id, bad)
    assert memory.list_atoms(space.id, status=None) == [old]
    assert kinds_since(engine, cursor) == []
    assert found(memory, space.id, "before after kept") == ["Kept."]


@pytest.mark.parametrize("atoms", [None, "text", 5, {"text": "x"}, [5], [None], [[]], iter([])])
def test_what_is_no_list_of_atoms_is_refused(atoms: Any, memory: Memory, space: longmind.MemorySpace) -> None:
    with pytest.raises(longmind.InvalidInput):
        memory.add_atoms(space.id, atoms)
    assert memory.list_atoms(space.id) == []


def test_an_error_among_many_says_which_one_it_is(memory: Memory, space: longmind.MemorySpace) -> None:
    with pytest.raises(longmind.InvalidInput, match=r"atoms\[1\]\.importance"):
        memory.add_atoms(space.id, [fact(), fact(importance=9)])
    with pytest.raises(longmind.InvalidInput, match=r"atoms\[2\]\.text is blank"):
        memory.add_atoms(space.id, [fact(), fact(), fact(" ")])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"valid_from": 5}, "atom.valid_from must be an ISO 8601 text or a datetime, not int."),
        ({"validTo": True}, "atom.validTo must be an ISO 8601 text or a datetime, not bool."),
        ({"created_at": date(2026, 1, 1)}, "atom.created_at must be an ISO 8601 text or a datetime, not date."),
        ({"search_context": ["ok", 5]}, "atom.search_context[1] must be a text, not int."),
        ({"searchContext": {"a": 1}}, "atom.searchContext must be a text or a list of texts, not dict."),
        ({"tags": ["ok", 5]}, "atom.tags[1]: Input should be a valid string."),
        ({"category": {"name": 5}}, "atom.category.name: Input should be a valid string."),
    ],
)
def test_a_refusal_names_the_field_and_the_member_that_is_wrong(
    memory: Memory, space: longmind.MemorySpace, wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(longmind.InvalidInput) as refused:
        memory.add_atom(space.id, {**fact(), **wrong})
    assert refused.value.message == message


def test_atoms_that_are_added_together_are_told_as_they_are_kept_and_have_lists_of_their_own(
    memory: Memory, space: longmind.MemorySpace
) -> None:
    alike = [fact(f"{number}.", tags=["a"]) for number in range(3)]
    others = [fact("Other.", tags=["a"], importance=5), fact("Other.", tags=["b"]), fact("Other.", kind="RULE")]
    added = memory.add_atoms(space.id, [*alike, *others, *alike])
    assert [atom.text for atom in added] == ["0.", "1.", "2.", "Other.", "Other.", "Other.", "0.", "1.", "2."]
    assert added == [memory.get_atom(atom.id) for atom in added]
    added[0].tags.append("mine")
    assert [atom.tags for atom in added[1:]] == [["a"], ["a"], ["a"], ["b"], [], ["a"], ["a"], ["a"]]


def test_more_than_a_bulk_is_refused(memory: Memory, space: longmind.MemorySpace) -> None:
    with pytest.raises(longmind.LimitExceeded):
        memory.add_atoms(space.id, [fact()] * 100_001)


@pytest.mark.patient
def test_a_text_of_a_megabyte_is_kept_and_found(memory: Memory, space: longmind.MemorySpace) -> None:
    text = ("needle " + "hay " * MEGABYTE)[:MEGABYTE]
    atom = memory.add_atom(space.id, fact(text))
    assert looked_up(memory, atom).text == text
    assert found(memory, space.id, "needle") == [text]


@pytest.mark.parametrize(
    "text",
    [
        "👩‍👩‍👧 and 🫠",
        "مرحبا بالعالم",
        "\u202eright to left",
        "Grüße aus Köln",
        "今日は東京にいます",
        "ผมชอบกินข้าว",
        "'; DROP TABLE atoms; --",
        "{{mustache}} <b>%s</b> \\x00 :scope_id",
        "a\u0301 and \u00e1",
        " spaces around \n and lines\t",
    ],
)
def test_any_writing_is_kept_as_it_is(text: str, memory: Memory, space: longmind.MemorySpace) -> None:
    atom = memory.add_atom(space.id, fact(text, name=text.strip(), tags=[text]))
    kept = looked_up(memory, atom)
    assert (kept.text, kept.category.name, kept.tags) == (text, text.strip(), [text])
    assert memory.list_atoms(space.id, category=text.strip()) == [kept]


@pytest.mark.conforms("A3.6", "A3.9")
def test_an_atom_leads_back_to_the_messages_it_came_from(
    ctx: longmind.Context, memory: Memory, space: longmind.MemorySpace
) -> None:
    conversation = ctx.conversations.create_conversation("daily-checkin")
    said = ctx.conversations.append_user_message(conversation.id, "I moved to Graz.")
    again = ctx.conversations.append_user_message(conversation.id, "Yes, to Graz.")
    elsewhere = ctx.conversations.create_conversation("support")
    other = ctx.conversations.append_user_message(elsewhere.id, "I live in Graz.")

    atom = memory.add_atom(space.id, fact(source_message_ids=[again.id, said.id, said.id]))
    assert (atom.source_conversation_id, atom.source_message_ids) == (conversation.id, [again.id, said.id])
    assert memory.add_atom(space.id, fact("Graz.", source_conversation_id=elsewhere.id)).source_message_ids == []
    both = memory.add_atom(space.id, fact("In Graz.", source_message_ids=[said.id, other.id]))
    assert (both.source_conversation_id, both.source_message_ids) == (None, [said.id, other.id])
    with pytest.raises(longmind.InvalidInput, match="not in conversation"):
        memory.add_atom(space.id, fact(source_conversation_id=elsewhere.id, source_message_ids=[said.id]))


@pytest.mark.conforms("A3.6", "A0.4")
def test_what_somebody_else_said_cannot_be_cited(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    bob = engine.context(tenant_id="acme", app_id="support", user_id="bob")
    conversation = bob.conversations.create_conversation("daily-checkin")
    said = bob.conversations.append_user_message(conversation.id, "I am Bob.")
    for sources in ({"source_message_ids": [said.id]}, {"source_conversation_id": conversation.id}):
        with pytest.raises(longmind.InvalidInput, match="There is no"):
            memory.add_atom(space.id, fact(**sources))
    assert memory.list_atoms(space.id) == []


@pytest.mark.conforms("A3.6")
def test_only_messages_can_be_cited(
    engine: longmind.Engine, ctx: longmind.Context, memory: Memory, space: longmind.MemorySpace
) -> None:
    ctx.conversations.create_conversation("daily-checkin")
    created = next(change for change in engine.follow() if change.kind == "conversation.created")
    with pytest.raises(longmind.InvalidInput, match="There is no message"):
        memory.add_atom(space.id, fact(source_message_ids=[created.event_id]))


@pytest.mark.conforms("A3.9")
def test_an_entity_of_another_space_cannot_be_linked(memory: Memory, space: longmind.MemorySpace) -> None:
    other = memory.create_memory_space("work")
    stranger = memory.create_entity(other.id, "PERSON", "Bob")
    with pytest.raises(longmind.InvalidInput, match="There is no entity"):
        memory.add_atom(space.id, fact(entity_ids=[stranger.id]))
    unchanged = memory.get_entity(stranger.id)
    assert unchanged == stranger


@pytest.mark.patient
def test_five_thousand_atoms_are_added_in_one_call(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    cursor = engine.last_cursor()
    added = memory.add_atoms(space.id, [fact(f"Number {number} is number{number}.") for number in range(5000)])
    assert len({atom.id for atom in added}) == 5000
    assert memory.list_atoms(space.id, limit=10_000) == added[::-1]
    (change,) = engine.follow(cursor)
    assert (change.kind, change.data["atomIds"]) == ("atoms.added", [atom.id for atom in added])
    # All words, since the embedder of the tests takes many other words for one of them.
    for number in (0, 4321, 4999):
        text = f"Number {number} is number{number}."
        assert found(memory, space.id, text)[0] == text


def test_threads_that_add_to_one_space_at_once_lose_nothing(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    def add(thread: int) -> list[longmind.Atom]:
        return [memory.add_atom(space.id, fact(f"Thread {thread} says {number}.")) for number in range(20)]

    added = [atom for atoms in at_once(8, add) for atom in atoms]
    listed = memory.list_atoms(space.id, limit=1000)
    assert len(listed) == 160
    assert {atom.id: atom for atom in listed} == {atom.id: atom for atom in added}
    assert memory.recall_by_topic(space.id, "thread").total_candidates == 160
    assert kinds_since(engine, 0) == ["space.created"] + ["atoms.added"] * 160


def test_one_bad_atom_among_many_leaves_no_trace(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    memory.add_atom(space.id, fact("First."))
    before = memory.get_memory_space(space.id)
    cursor = engine.last_cursor()
    many = [fact(f"Number {number}.") for number in range(600)]
    # This one is refused inside of the transaction, after others of the same call were looked at.
    many[300] = fact("Cites nothing.", source_message_ids=["msg_none"])
    with pytest.raises(longmind.InvalidInput):
        memory.add_atoms(space.id, many)
    assert memory.get_memory_space(space.id) == before
    assert kinds_since(engine, cursor) == []
    assert found(memory, space.id, "number") == ["First."]
    second = memory.add_atom(space.id, fact("Second."))
    assert [atom.text for atom in memory.list_atoms(space.id)] == ["Second.", "First."]
    # The place that the next one takes is the one it would have had.
    positions = engine._database.read(
        longmind.Scope("acme", "support", "ada"),
        lambda run: run.all("facts_since", space_id=space.id, first=0, revision=0),
    )
    assert sorted(row[0] for row in positions) == [0, 1]
    assert kinds_since(engine, cursor) == ["atoms.added"]
    assert found(memory, space.id, "second") == [second.text, "First."]


def test_an_embedder_that_fails_leaves_no_trace(engine: longmind.Engine, database_url: str) -> None:
    class Broken:
        model, dimension = "test:broken", 4

        def embed_texts(self, texts: Any) -> Any:
            raise ConnectionError("no answer")

        def embed_query(self, query: str) -> Any:
            return [1.0, 0.0, 0.0, 0.0]

    with longmind.open(database_url, embedder=Broken()) as broken:
        memory = broken.context(tenant_id="acme", app_id="support", user_id="ada").memory
        space = memory.create_memory_space("personal")
        with pytest.raises(longmind.EmbedderFailed, match="no answer"):
            memory.add_atoms(space.id, [fact(), fact()])
        assert memory.list_atoms(space.id) == []
        assert kinds_since(broken, 0) == ["space.created"]


def test_no_atoms_are_no_change(engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace) -> None:
    cursor = engine.last_cursor()
    assert memory.add_atoms(space.id, []) == []
    assert kinds_since(engine, cursor) == []


@pytest.mark.parametrize(
    "cited",
    [{}, {"entity_ids": ["ent_none"]}, {"source_message_ids": ["evt_none"]}, {"source_conversation_id": "conv_none"}],
)
def test_what_is_added_to_a_space_that_is_not_there_is_refused_and_leaves_nothing_behind(
    cited: dict[str, Any], engine: longmind.Engine, memory: Memory
) -> None:
    put_away = memory.create_memory_space("put away").id
    memory.delete_memory_space(put_away)
    cursor = engine.last_cursor()
    for number, space_id in product((0, 1, 20), ("ms_none", put_away)):
        with pytest.raises(longmind.NotFound, match=space_id):
            memory.add_atoms(space_id, [fact(**cited)] * number)
    assert kinds_since(engine, cursor) == []


@pytest.mark.conforms("A3.9")
def test_the_search_context_helps_to_find_and_is_shown_to_nobody(memory: Memory, space: longmind.MemorySpace) -> None:
    atom = memory.add_atom(space.id, fact("Yes, gladly.", search_context=["Shall we meet in Ljubljana?"]))
    memory.add_atom(space.id, fact("Something else."))
    (hit, *_) = memory.recall_by_topic(space.id, "Ljubljana").hits
    assert hit.atom == atom
    assert "Ljubljana" not in atom.model_dump_json()


def test_instants_are_read_in_any_zone(memory: Memory, space: longmind.MemorySpace) -> None:
    written = ["2026-01-01T12:00:00Z", "2026-01-01T14:00:00+02:00", datetime(2026, 1, 1, 12), "2026-01-01T12:00:00"]
    atoms = memory.add_atoms(space.id, [fact(valid_from=each) for each in written])
    assert {atom.valid_from for atom in atoms} == {"2026-01-01T12:00:00.000000Z"}
    aware = memory.add_atom(space.id, fact(valid_from=datetime(2026, 1, 1, 12, tzinfo=UTC)))
    assert aware.valid_from == "2026-01-01T12:00:00.000000Z"


@pytest.mark.conforms("A3.15", "T23")
def test_instants_sort_as_text_like_they_do_in_time(memory: Memory, space: longmind.MemorySpace) -> None:
    written = [
        "0001-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999999Z",
        "1970-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00.000001Z",
        "2026-01-01T00:00:00.1Z",
        "2026-01-01T00:00:00.100001Z",
        "2026-01-01T00:00:01Z",
        "9999-12-31T23:59:59Z",
    ]
    atoms = memory.add_atoms(space.id, [fact(valid_from=instant) for instant in written])
    rendered = [atom.valid_from for atom in atoms]
    assert rendered == sorted(rendered)
    assert len({len(instant) for instant in rendered}) == 1
    assert [hit.atom.valid_from for hit in memory.recall_timeline(space.id).hits] == rendered


@pytest.mark.conforms("A3.1", "A3.15")
def test_json_has_the_names_that_callers_know(memory: Memory, space: longmind.MemorySpace) -> None:
    atom = memory.add_atom(space.id, fact(tags=["city"]))
    assert atom.model_dump().keys() == {
        "id", "memorySpaceId", "tenantId", "appId", "userId", "text", "category", "importance", "confidence",
        "validFrom", "validTo", "status", "sourceConversationId", "sourceMessageIds", "entityIds", "tags", "behavioral",
        "supersedes", "supersededBy", "supersededAt", "archivedAt", "lastConfirmedAt", "origin", "trust", "sessionId",
        "group", "runId", "agentId", "createdAt", "updatedAt",
        "decision", "because", "precision", "extractionVersion", "evidence", "metadata", "key",
    }  # fmt: skip
    assert atom.model_dump()["category"] == {"name": "notes", "kind": "FACT"}
    assert longmind.Atom.model_validate_json(atom.model_dump_json()) == atom
    assert space.model_dump().keys() == {
        "id", "tenantId", "appId", "userId", "name", "kind", "metadata", "atomCount", "createdAt", "updatedAt",
    }  # fmt: skip


class Nowhere(tzinfo):
    """A zone that does not know how far it is from UTC."""

    def utcoffset(self, instant: datetime | None) -> None:
        return None

    def dst(self, instant: datetime | None) -> None:
        return None

    def tzname(self, instant: datetime | None) -> str:
        return "nowhere"


def test_an_instant_in_a_zone_that_is_none_is_taken_as_utc(
    memory: Memory, space: longmind.MemorySpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        atom = memory.add_atom(space.id, fact("Ada lives in Graz.", valid_from=datetime(2026, 1, 1, tzinfo=Nowhere())))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert atom.valid_from == "2026-01-01T00:00:00.000000Z"


def test_a_field_whose_name_cannot_be_written_is_refused(memory: Memory, space: longmind.MemorySpace) -> None:
    with pytest.raises(longmind.InvalidInput, match=r"^atom: "):
        memory.add_atom(space.id, fact("Ada lives in Graz.") | {"\ud800": 1})
    assert memory.list_atoms(space.id) == []
