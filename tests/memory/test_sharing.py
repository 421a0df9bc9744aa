"""Shared spaces: read by those who were granted them, written by their owner, and nobody else's business."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw
import psycopg
import pytest

import longmind
from longmind.memory import Memory
from longmind.store.database import Transaction
from longmind.store.tables import atoms, grants
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder
from tests.memory.facts import at_once, fact, found, kinds_since

EVERYBODY = "*"


def memory_of(engine: longmind.Engine, name: str, **scope: Any) -> Memory:
    return engine.context(**{"tenant_id": "acme", "app_id": "support", "user_id": name, **scope}).memory


@pytest.fixture
def librarian(engine: longmind.Engine) -> Memory:
    return memory_of(engine, "librarian")


@pytest.fixture
def handbook(librarian: Memory) -> longmind.MemorySpace:
    """A shared space with a little of everything, which nobody was granted yet."""
    space = librarian.create_memory_space("handbook", kind="shared")
    graz = librarian.create_entity(space.id, "PLACE", "Graz")
    old = librarian.add_atom(
        space.id, fact("The office is in Vienna.", entity_ids=[graz.id], valid_from="2025-01-01T00:00:00Z")
    )
    librarian.supersede_atom(
        old.id, fact("The office is in Graz.", entity_ids=[graz.id], valid_from="2026-01-01T00:00:00Z")
    )
    librarian.add_atom(space.id, fact("Lunch is at noon."))
    return space


def test_a_space_is_made_shared_by_whoever_makes_it_and_its_name_is_apart(memory: Memory) -> None:
    own, shared = memory.create_memory_space("notes"), memory.create_memory_space("notes", kind="shared")
    assert (own.kind, shared.kind, own.id != shared.id) == ("user", "shared", True)
    assert memory.create_memory_space("notes", kind="shared") == shared
    assert {each.id for each in memory.list_memory_spaces()} == {own.id, shared.id}
    for kind in ("group", "agent", "everybody", None):
        with pytest.raises(longmind.InvalidInput, match="kind is"):
            memory.create_memory_space("notes", kind=kind)  # type: ignore[arg-type]


def everything_read(memory: Memory, space: longmind.MemorySpace, owner: Memory) -> list[Any]:
    """What each operation that may read a shared space answers."""
    (atom, *_), (entity,) = owner.list_atoms(space.id), owner.search_entities(space.id, "graz")
    return [
        memory.get_memory_space(space.id),
        memory.list_atoms(space.id, status=None),
        memory.get_atom(atom.id),
        memory.get_entity(entity.id),
        memory.find_entity_by_name(space.id, "PLACE", "graz"),
        memory.search_entities(space.id, "gra"),
        [hit.atom for hit in memory.recall_by_topic(space.id, "office lunch", limit=3).hits],
        [hit.atom for hit in memory.recall_by_topic(space.id, "office", entity="Graz").hits],
        [hit.atom for hit in memory.recall_by_entity(space.id, entity.id).hits],
        [hit.atom for hit in memory.recall_timeline(space.id, entity_id_or_name="GRAZ").hits],
        [hit.atom for hit in memory.recall_timeline(space.id, query="office").hits],
        memory.why_not(atom.id, "lunch").rank,
    ]


@pytest.mark.conforms("T6", "A8.3")
@pytest.mark.parametrize("granted_to", [EVERYBODY, "ada"])
def test_who_was_granted_a_space_reads_it_as_its_owner_does(
    memory: Memory, librarian: Memory, handbook: longmind.MemorySpace, granted_to: str
) -> None:
    grant = librarian.grant_space(handbook.id, granted_to)
    assert (grant.memory_space_id, grant.owner_id, grant.user_id) == (handbook.id, "librarian", granted_to)
    assert librarian.grant_space(handbook.id, granted_to) == grant
    assert librarian.list_grants(handbook.id) == [grant]
    read = everything_read(memory, handbook, librarian)
    assert read == everything_read(librarian, handbook, librarian)
    assert all(read)
    (listed,) = memory.list_shared_spaces()
    assert listed == read[0]
    assert (listed.kind, listed.user_id, listed.atom_count) == ("shared", "librarian", 3)
    # The owner's own are not among those that others share, and the reader's own stay apart.
    assert (librarian.list_shared_spaces(), memory.list_memory_spaces()) == ([], [])


def refusals(memory: Memory, space: longmind.MemorySpace, owner: Memory) -> list[Any]:
    """What each reading operation answers to who may not read, without the ids that were asked for."""
    (atom, *_), (entity,) = owner.list_atoms(space.id), owner.search_entities(space.id, "graz")
    return answers_without(memory, space.id, atom.id, entity.id)


def answers_without(memory: Memory, space_id: str, atom_id: str, entity_id: str) -> list[Any]:
    questions: list[Callable[[], Any]] = [
        lambda: memory.get_memory_space(space_id),
        lambda: memory.list_atoms(space_id),
        lambda: memory.get_atom(atom_id),
        lambda: memory.get_entity(entity_id),
        lambda: memory.find_entity_by_name(space_id, "PLACE", "graz"),
        lambda: memory.search_entities(space_id, "gra"),
        lambda: memory.recall_by_topic(space_id, "office"),
        lambda: memory.recall_by_entity(space_id, entity_id),
        lambda: memory.recall_timeline(space_id),
        lambda: memory.why_not(atom_id, "lunch"),
        lambda: memory.list_grants(space_id),
        lambda: memory.list_shared_spaces(),
    ]
    given = []
    for question in questions:
        try:
            given.append(question())
        except longmind.NotFound as error:
            text = str(error)
            for asked in (space_id, atom_id, entity_id):
                text = text.replace(asked, "…")
            given.append(text)
    return given


@pytest.mark.conforms("T6", "A0.4")
@pytest.mark.parametrize(
    "who",
    [
        {"name": "bob"},
        {"name": "ada", "tenant_id": "other"},
        {"name": "ada", "app_id": "other"},
        {"name": "librarian", "tenant_id": "other"},
    ],
)
def test_without_a_grant_a_shared_space_is_like_one_that_is_not_there(
    engine: longmind.Engine, librarian: Memory, handbook: longmind.MemorySpace, who: dict[str, str]
) -> None:
    nothing = answers_without(memory_of(engine, "nobody"), "ms_none", "atom_none", "ent_none")
    stranger = memory_of(engine, **who)
    assert refusals(stranger, handbook, librarian) == nothing
    librarian.grant_space(handbook.id, "ada")
    assert refusals(stranger, handbook, librarian) == nothing
    # Everybody is everybody of the same tenant and app.
    librarian.grant_space(handbook.id, EVERYBODY)
    assert (refusals(stranger, handbook, librarian) == nothing) == (who != {"name": "bob"})


@pytest.mark.conforms("T6")
def test_a_grant_of_one_space_opens_no_other_of_the_same_owner(
    memory: Memory, librarian: Memory, handbook: longmind.MemorySpace
) -> None:
    private = librarian.create_memory_space("private")
    place = librarian.create_entity(private.id, "PLACE", "Linz")
    secret = librarian.add_atom(private.id, fact("The code is 1234.", entity_ids=[place.id]))
    other = librarian.create_memory_space("other", kind="shared")
    hidden = librarian.add_atom(other.id, fact("Salaries are paid late."))
    librarian.grant_space(handbook.id, EVERYBODY)
    assert [memory.get_atom(secret.id), memory.get_atom(hidden.id), memory.get_entity(place.id)] == [None] * 3
    for space in (private, other):
        assert memory.get_memory_space(space.id) is None
        with pytest.raises(longmind.NotFound):
            memory.recall_by_topic(space.id, "code salaries")
    for atom in (secret, hidden):
        with pytest.raises(longmind.NotFound):
            memory.why_not(atom.id, "code")
    # Nor does an entity of the private space lead anywhere from the shared one.
    assert memory.recall_by_entity(handbook.id, place.id).hits == []
    assert memory.recall_timeline(handbook.id, entity_id_or_name=place.id).hits == []
    assert [each.id for each in memory.list_shared_spaces()] == [handbook.id]


@pytest.mark.conforms("T6")
def test_only_a_shared_space_can_be_granted_and_only_by_its_owner(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace, handbook: longmind.MemorySpace
) -> None:
    with pytest.raises(longmind.InvalidInput, match="not a shared space"):
        memory.grant_space(space.id, EVERYBODY)
    assert memory.list_grants(space.id) == []
    administrator = engine.context(tenant_id="acme", app_id="support", user_id="root", capabilities={"admin"}).memory
    for stranger in (memory, administrator):
        for refused in (
            lambda stranger=stranger: stranger.grant_space(handbook.id, EVERYBODY),
            lambda stranger=stranger: stranger.revoke_space(handbook.id, EVERYBODY),
            lambda stranger=stranger: stranger.list_grants(handbook.id),
        ):
            with pytest.raises(longmind.NotFound):
                refused()
    memory_of(engine, "librarian").grant_space(handbook.id, "ada")
    # Who may read it may not hand it on.
    with pytest.raises(longmind.NotFound):
        memory.grant_space(handbook.id, "bob")


@pytest.mark.parametrize("reader", ["", "  ", None, 7, "a\x00", "librarian"])
def test_what_cannot_be_a_reader_is_refused(librarian: Memory, handbook: longmind.MemorySpace, reader: Any) -> None:
    with pytest.raises(longmind.InvalidInput):
        librarian.grant_space(handbook.id, reader)
    assert librarian.list_grants(handbook.id) == []


@pytest.mark.conforms("T6")
def test_a_grant_that_is_taken_back_ends_at_once_in_an_engine_that_has_the_space_in_memory(
    database_url: str, librarian: Memory, handbook: longmind.MemorySpace
) -> None:
    librarian.grant_space(handbook.id, "ada")
    librarian.grant_space(handbook.id, EVERYBODY)
    with longmind.open(database_url, embedder=WordsEmbedder()) as elsewhere:
        ada = memory_of(elsewhere, "ada")
        assert found(ada, handbook.id, "lunch")[0] == "Lunch is at noon."
        # Each grant stands by itself.
        librarian.revoke_space(handbook.id, EVERYBODY)
        assert found(ada, handbook.id, "lunch")[0] == "Lunch is at noon."
        librarian.revoke_space(handbook.id, "ada")
        with pytest.raises(longmind.NotFound):
            ada.recall_by_topic(handbook.id, "lunch")
        assert (ada.get_memory_space(handbook.id), ada.list_shared_spaces()) == (None, [])
        librarian.grant_space(handbook.id, "ada")
        assert found(ada, handbook.id, "lunch")[0] == "Lunch is at noon."
        librarian.delete_memory_space(handbook.id)
        with pytest.raises(longmind.NotFound):
            ada.recall_by_topic(handbook.id, "lunch")
        assert (ada.get_memory_space(handbook.id), ada.list_shared_spaces()) == (None, [])


@pytest.mark.conforms("T6")
def test_what_is_gone_of_the_owner_is_gone_for_readers_even_if_the_grant_were_left(
    database_url: str, engine: longmind.Engine, librarian: Memory, handbook: longmind.MemorySpace
) -> None:
    librarian.grant_space(handbook.id, "ada")
    ada = memory_of(engine, "ada")
    assert found(ada, handbook.id, "lunch")[0] == "Lunch is at noon."
    remove_rows(database_url, engine.context(tenant_id="acme", app_id="support", user_id="librarian").scope)
    with pytest.raises(longmind.NotFound):
        ada.recall_by_topic(handbook.id, "lunch")
    assert (ada.get_memory_space(handbook.id), ada.list_shared_spaces()) == (None, [])


def remove_rows(url: str, scope: longmind.Scope) -> None:
    """Take the memory of somebody out of the database."""
    statements = [f"DELETE FROM {table} WHERE scope_id = '{scope.id}'" for table in ("atoms", "spaces")]
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        for statement in statements:
            connection.execute(statement)
        connection.close()
    else:
        with psycopg.connect(url, options="-c search_path=longmind") as postgres:
            for statement in statements:
                postgres.execute(statement.encode())


@pytest.mark.conforms("T6")
def test_a_forged_grant_of_a_space_that_is_not_shared_opens_nothing(
    engine: longmind.Engine, memory: Memory, librarian: Memory
) -> None:
    private = librarian.create_memory_space("private")
    secret = librarian.add_atom(private.id, fact("The code is 1234."))
    scope = engine.context(tenant_id="acme", app_id="support", user_id="ada").scope
    engine._database.write(
        scope,
        lambda run: run.one("insert_grant", space_id=private.id, user_id="ada", owner_id="librarian", now=1),
    )
    assert (memory.get_memory_space(private.id), memory.get_atom(secret.id)) == (None, None)
    assert memory.list_shared_spaces() == []
    with pytest.raises(longmind.NotFound):
        memory.recall_by_topic(private.id, "code")


@pytest.mark.conforms("T6")
def test_the_store_refuses_to_write_in_the_scope_of_who_shares(
    engine: longmind.Engine, librarian: Memory, handbook: longmind.MemorySpace
) -> None:
    librarian.grant_space(handbook.id, "ada")
    scope = engine.context(tenant_id="acme", app_id="support", user_id="ada").scope
    owner = engine._database.read(scope, grants.find_owner_scope, scope, handbook.id)
    assert owner is not None
    (atom, *_) = librarian.list_atoms(handbook.id)
    assert engine._database.read(owner, atoms.get, atom.id) == atom
    with pytest.raises(longmind.StoreReadOnly):
        engine._database.write(owner, atoms.archive, owner, atom.id, 1)
    assert librarian.get_atom(atom.id) == atom


def test_granting_and_taking_back_are_told_once_each(
    engine: longmind.Engine, librarian: Memory, handbook: longmind.MemorySpace
) -> None:
    cursor = engine.last_cursor()
    for _ in range(2):
        librarian.grant_space(handbook.id, "ada")
    for _ in range(2):
        librarian.revoke_space(handbook.id, "ada")
    assert kinds_since(engine, cursor) == ["space.granted", "space.revoked"]
    (given, _) = engine.follow(cursor)
    assert (given.user_id, given.data) == ("librarian", {"spaceId": handbook.id, "readerId": "ada"})


def test_shared_spaces_are_listed_oldest_first_a_page_at_a_time(
    engine: longmind.Engine, memory: Memory, clock: SettableClock
) -> None:
    made = []
    for number in range(5):
        clock.advance(1)
        owner = memory_of(engine, f"owner-{number % 2}")
        made.append(owner.create_memory_space(f"book {number}", kind="shared").id)
        owner.grant_space(made[-1], EVERYBODY)
        owner.grant_space(made[-1], "ada")
    assert [space.id for space in memory.list_shared_spaces()] == made
    pages, cursor = [], None
    while True:
        page = memory.list_shared_spaces(limit=2, cursor=cursor)
        pages.append([space.id for space in page])
        cursor = page.next_cursor
        if cursor is None:
            break
    assert pages == [made[:2], made[2:4], made[4:]]


@pytest.mark.conforms("T6")
def test_grants_given_and_taken_back_at_once_leave_what_some_order_of_them_leaves(
    engine: longmind.Engine, memory: Memory, librarian: Memory, handbook: longmind.MemorySpace
) -> None:
    def work(number: int) -> None:
        if number % 2:
            librarian.grant_space(handbook.id, "ada")
        else:
            librarian.revoke_space(handbook.id, "ada")

    cursor = engine.last_cursor()
    at_once(8, work)
    told = kinds_since(engine, cursor)
    # They take turns, so that each that is told has changed something.
    assert told == ["space.granted", "space.revoked"] * (len(told) // 2) + ["space.granted"] * (len(told) % 2)
    granted = librarian.list_grants(handbook.id) != []
    assert granted == (told[-1:] == ["space.granted"])
    assert (memory.get_memory_space(handbook.id) is not None) == granted


@pytest.mark.conforms("T6")
def test_a_space_that_is_deleted_while_it_is_granted_leaves_no_grant(
    engine: longmind.Engine, librarian: Memory
) -> None:
    for _ in range(5):
        space = librarian.create_memory_space("fleeting", kind="shared")

        def work(number: int, space_id: str = space.id) -> None:
            try:
                if number:
                    librarian.grant_space(space_id, f"reader-{number}")
                else:
                    librarian.delete_memory_space(space_id)
            except longmind.NotFound:
                pass

        at_once(4, work)
        scope = engine.context(tenant_id="acme", app_id="support", user_id="librarian").scope
        assert engine._database.read(scope, grants_left, space.id) == []


def grants_left(run: Transaction, space_id: str) -> list[Any]:
    return run.all("grants_of_space", space_id=space_id, owner_id="librarian")
