"""The embedder of a store is changed while the store is in use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest

import longmind
from harness.crew import Line, start_process
from longmind.memory import Memory
from longmind.providers.embedder import CheckedEmbedder, validate_vectors
from longmind.recall import embedding_jobs as reindexing
from longmind.recall.index.segments import VectorsSegment
from longmind.store.database import Transaction
from longmind.store.tables import spaces
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder
from tests.recall.facts import fact, memory_of, texts_of

OLD = WordsEmbedder("test:old", 256)
NEW = WordsEmbedder("test:new", 224)
"""With both, a fact is the nearest to its own word, although they have fewer dimensions than there are words."""
ATOMS = 700
"""So many that their vectors are made in several batches."""


class WatchedEmbedder(WordsEmbedder):
    """Calls a function before it makes the vectors of a batch, or of a question."""

    def __init__(self, model: str, dimension: int, before: Callable[[int], object]) -> None:
        super().__init__(model, dimension)
        self._before = before

    def embed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        self._before(len(texts))
        return [WordsEmbedder.embed_query(self, text) for text in texts]


@pytest.fixture
def space_id(database_url: str) -> str:
    """A space whose vectors are the old embedder's."""
    with longmind.open(database_url, embedder=OLD) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space("main").id
        memory.add_atoms(space_id, [fact(f"word{number} of many") for number in range(ATOMS)])
        return space_id


@pytest.fixture
def renewed(database_url: str) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=NEW) as engine:
        yield engine


def read_vectors(run: Transaction, space_id: str, model: str) -> dict[int, int]:
    """Which positions have a vector of a model, and of what dimension."""
    found: dict[int, int] = {}
    for first, _, body in run.all("vector_segments_from", space_id=space_id, model=model, position=0):
        segment = VectorsSegment.decode(body)
        found |= {first + place: segment.rows.shape[1] for place in range(segment.atoms) if segment.scales[place]}
    return found


def vectors_of(engine: longmind.Engine, space_id: str, embedder: WordsEmbedder) -> dict[int, int]:
    scope = engine.context(tenant_id="acme", app_id="support", user_id="ada").scope
    return engine._database.read(scope, read_vectors, space_id, CheckedEmbedder(embedder).stamp)


def assert_all_new(engine: longmind.Engine, space_id: str, positions: Sequence[int]) -> None:
    assert vectors_of(engine, space_id, OLD) == {}
    assert vectors_of(engine, space_id, NEW) == dict.fromkeys(positions, NEW.dimension)


def uses_vectors(memory: Memory, space_id: str, query: str) -> bool:
    explanations = [hit.explanation for hit in memory.recall_by_topic(space_id, query, explain=True).hits]
    return bool(explanations) and all(each is not None and each.dense is not None for each in explanations)


def test_reindexing_makes_all_vectors_anew_and_drops_the_old_ones(renewed: longmind.Engine, space_id: str) -> None:
    memory = memory_of(renewed)
    # Until then words alone are asked, and vectors of different models are never compared.
    assert texts_of(memory.recall_by_topic(space_id, "word77", limit=1)) == ["word77 of many"]
    assert not uses_vectors(memory, space_id, "word77")
    assert renewed.reindex() == ATOMS
    assert_all_new(renewed, space_id, range(ATOMS))
    assert uses_vectors(memory, space_id, "word77")
    assert memory.recall_by_topic(space_id, "word77").hits[0].atom.text == "word77 of many"
    assert renewed.reindex() == 0


def test_the_first_recall_with_another_embedder_queues_the_change(renewed: longmind.Engine, space_id: str) -> None:
    memory = memory_of(renewed)
    for _ in range(3):
        memory.recall_by_topic(space_id, "word5")
    assert renewed.work().succeeded == 1
    assert_all_new(renewed, space_id, range(ATOMS))
    assert uses_vectors(memory, space_id, "word5")
    assert renewed.work().succeeded == 0


def test_the_change_is_left_to_an_engine_that_has_the_embedder(
    database_url: str, renewed: longmind.Engine, space_id: str
) -> None:
    memory_of(renewed).recall_by_topic(space_id, "word5")
    for other in (OLD, None):
        with longmind.open(database_url, embedder=other) as engine:
            assert engine.work().succeeded == 0
    assert renewed.work().succeeded == 1
    assert_all_new(renewed, space_id, range(ATOMS))


def test_reindexing_tells_how_far_it_is(renewed: longmind.Engine, space_id: str) -> None:
    told: list[tuple[int, int, int]] = []

    made = renewed.reindex(lambda *progress: told.append(progress))

    assert [each[0] for each in told] == sorted({each[0] for each in told})
    assert told[-1][0] == made == ATOMS
    assert {each[1:] for each in told} == {(0, 1)}


def test_reindexing_without_an_embedder_is_refused(database_url: str) -> None:
    with (
        longmind.open(database_url, embedder=None) as engine,
        pytest.raises(longmind.InvalidInput, match="no embedder"),
    ):
        engine.reindex()


def test_recall_goes_on_while_the_embedder_is_changed(database_url: str, space_id: str) -> None:
    """Four threads recall and one writes, half of them through an engine that still has the old embedder."""
    done = threading.Event()
    recalled = threading.Semaphore(0)
    added: list[str] = []

    def after_some_recalls(batch: int) -> None:
        if batch > 1:
            for _ in range(8):
                assert recalled.acquire(timeout=60)

    def recall(memory: Memory, offset: int) -> int:
        count = 0
        while not done.is_set() or count < 10:
            number = (offset + 37 * count) % ATOMS
            found = memory.recall_by_topic(space_id, f"word{number}")
            assert texts_of(found)[0] == f"word{number} of many"
            assert found.total_candidates > 0
            count += 1
            recalled.release()
        return count

    def write(memory: Memory) -> int:
        while not done.is_set() or len(added) < 10:
            # In fewer words, one that the embedder cannot tell from `word5` would be nearer to it than its own fact.
            text = f"added{len(added)} of many meanwhile"
            memory.add_atom(space_id, fact(text))
            assert texts_of(memory.recall_by_topic(space_id, text))[0] == text
            added.append(text)
        return len(added)

    slow = WatchedEmbedder(NEW.model, NEW.dimension, after_some_recalls)
    with (
        longmind.open(database_url, embedder=OLD) as old,
        longmind.open(database_url, embedder=slow) as new,
        ThreadPoolExecutor(5) as threads,
    ):
        work = [
            threads.submit(recall, memory_of(engine), offset)
            for engine, offset in ((old, 0), (old, 200), (new, 400), (new, 600))
        ]
        work.append(threads.submit(write, memory_of(new)))
        try:
            assert new.reindex() >= ATOMS
        finally:
            done.set()
        for each in work:
            assert each.result(timeout=60) >= 10
        new.reindex()
        assert_all_new(new, space_id, range(ATOMS + len(added)))
        assert uses_vectors(memory_of(new), space_id, "word3 meanwhile")


def reindex_and_tell(line: Line, url: str) -> None:
    def tell(batch: int) -> None:
        line.say(batch)
        line.hear()

    with longmind.open(url, embedder=WatchedEmbedder(NEW.model, NEW.dimension, tell)) as engine:
        engine.reindex()


def test_a_change_that_was_killed_in_the_middle_is_taken_up_again(database_url: str, space_id: str) -> None:
    with start_process(reindex_and_tell, database_url) as child:
        for _ in range(2):
            assert child.hear() == 256
            child.say("go on")
        # The third batch is begun, so the two before it are kept.
        child.hear()
        child.kill()
    with longmind.open(database_url, embedder=OLD) as old:
        assert uses_vectors(memory_of(old), space_id, "word3")
    with longmind.open(database_url, embedder=NEW) as engine:
        assert texts_of(memory_of(engine).recall_by_topic(space_id, "word600", limit=1)) == ["word600 of many"]
        # Only what was missing is made.
        assert engine.reindex() == ATOMS - 2 * 256
        assert_all_new(engine, space_id, range(ATOMS))


def test_an_embedder_that_fails_in_the_middle_leaves_the_old_vectors_in_use(database_url: str, space_id: str) -> None:
    batches: list[int] = []

    def fail_on_the_second(batch: int) -> None:
        batches.append(batch)
        if len(batches) == 2:
            raise ConnectionError("gone")

    with longmind.open(database_url, embedder=WatchedEmbedder(NEW.model, NEW.dimension, fail_on_the_second)) as engine:
        with pytest.raises(longmind.EmbedderFailed, match="ConnectionError: gone") as failed:
            engine.reindex()
        assert "the finished new ones are stored" in failed.value.hint
        assert "Nothing was written" not in failed.value.hint
        with longmind.open(database_url, embedder=OLD) as old:
            assert uses_vectors(memory_of(old), space_id, "word3")
        # What was made before is kept.
        assert engine.reindex() == ATOMS - 256
        assert_all_new(engine, space_id, range(ATOMS))


@pytest.mark.parametrize("gone", [[0], [256], [0, 1, 255, 256, 257, 699], list(range(300))])
def test_places_of_deleted_atoms_do_not_end_the_change(
    database_url: str, renewed: longmind.Engine, space_id: str, gone: list[int]
) -> None:
    memory = memory_of(renewed)
    ids = {atom.text: atom.id for atom in memory.list_atoms(space_id, limit=ATOMS)}
    for number in gone:
        memory.delete_atom(ids[f"word{number} of many"])
    assert renewed.reindex() == ATOMS - len(gone)
    assert_all_new(renewed, space_id, [place for place in range(ATOMS) if place not in gone])


def test_an_atom_that_is_deleted_while_its_vector_is_made_leaves_no_vector(database_url: str, space_id: str) -> None:
    with longmind.open(database_url, embedder=OLD) as old:
        memory = memory_of(old)
        newest = list(memory.list_atoms(space_id, limit=ATOMS))
        first, other = newest[-1], newest[-100]

        def delete_two(batch: int) -> None:
            if memory.get_atom(first.id) is not None:
                memory.delete_atom(first.id)
                memory.delete_atom(other.id)

        with longmind.open(database_url, embedder=WatchedEmbedder(NEW.model, NEW.dimension, delete_two)) as engine:
            engine.reindex()
            assert_all_new(engine, space_id, [place for place in range(ATOMS) if place not in (0, 99)])


def test_a_space_that_is_deleted_meanwhile_does_not_stop_the_others(database_url: str, space_id: str) -> None:
    with longmind.open(database_url, embedder=OLD) as old:
        memory = memory_of(old)
        later = memory.create_memory_space("later").id
        memory.add_atom(later, fact("tea"))

        def delete_the_first(batch: int) -> None:
            if memory.get_memory_space(space_id) is not None:
                memory.delete_memory_space(space_id)

        with longmind.open(database_url, embedder=WatchedEmbedder(NEW.model, NEW.dimension, delete_the_first)) as new:
            memory_of(new).recall_by_topic(space_id, "word3")
            new.reindex()
            assert uses_vectors(memory_of(new), later, "tea")
            # The job that was queued for it has nothing to do any more.
            assert new.work().dead == new.work().failed == 0


def test_a_space_that_changes_its_model_while_a_question_is_embedded_is_asked_by_words(
    database_url: str, space_id: str, renewed: longmind.Engine
) -> None:
    class Overtaken(WordsEmbedder):
        def embed_query(self, query: str) -> list[float]:
            renewed.reindex()
            # Somebody else's call learns of the new model, and so what this call was about to use is gone.
            memory_of(engine).recall_timeline(space_id, limit=1)
            return super().embed_query(query)

    with longmind.open(database_url, embedder=Overtaken(OLD.model, OLD.dimension)) as engine:
        found = memory_of(engine).recall_by_topic(space_id, "word9", limit=1, explain=True)
    assert texts_of(found) == ["word9 of many"]
    assert found.hits[0].explanation is not None
    assert found.hits[0].explanation.dense is None


def test_memory_from_before_there_was_an_embedder_gets_its_vectors_too(database_url: str) -> None:
    with longmind.open(database_url, embedder=None) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact("old one"), fact("old two")])
    with longmind.open(database_url, embedder=NEW) as engine:
        memory = memory_of(engine)
        # Something new is written before anything is asked.
        memory.add_atom(space_id, fact("new three"))
        memory.recall_by_topic(space_id, "one")
        assert engine.work().succeeded == 1
        assert_all_new(engine, space_id, range(3))
        assert uses_vectors(memory, space_id, "old new")


@pytest.mark.parametrize("late", [OLD, None], ids=["another embedder", "none"])
def test_what_is_written_with_another_embedder_later_on_is_noticed_by_recall(
    database_url: str, late: WordsEmbedder | None
) -> None:
    clock = SettableClock()
    with (
        longmind.open(database_url, embedder=NEW, clock=clock) as engine,
        longmind.open(database_url, embedder=late, clock=clock) as other,
    ):
        memory, elsewhere = memory_of(engine), memory_of(other)
        space_id = memory.create_memory_space().id
        for times in (1, 2):
            memory.add_atoms(space_id, [fact("word one")])
            elsewhere.add_atoms(space_id, [fact("word two"), fact("word three")])
            memory.add_atoms(space_id, [fact("word four")])
            assert len(memory.recall_by_topic(space_id, "word").hits) == 4 * times
            assert not uses_vectors(memory, space_id, "word")
            assert engine.work().succeeded == 1
            assert_all_new(engine, space_id, range(4 * times))
            assert uses_vectors(memory, space_id, "word")
            assert engine.work().succeeded == 0
    with longmind.open(database_url, embedder=NEW) as fresh:
        assert uses_vectors(memory_of(fresh), space_id, "word")


def test_reindexing_fills_what_is_missing_and_leaves_what_is_whole(database_url: str, renewed: longmind.Engine) -> None:
    memory = memory_of(renewed)
    whole, holed = (memory.create_memory_space(name).id for name in ("whole", "holed"))
    for space_id in (whole, holed):
        memory.add_atoms(space_id, [fact("word one"), fact("word two")])
    with longmind.open(database_url, embedder=OLD) as other:
        memory_of(other).add_atom(holed, fact("word three"))
        gone = memory_of(other).add_atom(whole, fact("word four"))
        memory.delete_atom(gone.id)
    before = memory.get_memory_space(whole)
    assert renewed.reindex() == 1
    assert_all_new(renewed, holed, range(3))
    assert uses_vectors(memory, holed, "word")
    assert memory.get_memory_space(whole) == before
    assert renewed.reindex() == 0


def test_an_atom_without_a_vector_keeps_the_old_model_in_use(renewed: longmind.Engine, space_id: str) -> None:
    scope = renewed.context(tenant_id="acme", app_id="support", user_id="ada").scope

    def fill_all_but_the_last(run: Transaction) -> bool:
        rows = run.all("atom_texts", space_id=space_id, first=0, until=ATOMS - 1, limit=ATOMS)
        vectors = VectorsSegment.from_vectors(
            validate_vectors(NEW.embed_texts([text for _, text in rows]), ATOMS - 1, NEW)
        )
        reindexing._put(run, space_id, CheckedEmbedder(NEW).stamp, list(range(ATOMS - 1)), vectors, 0)
        return reindexing._adopt(run, space_id, CheckedEmbedder(NEW).stamp, 0)

    assert renewed._database.write(scope, fill_all_but_the_last) is False
    assert renewed._database.read(scope, spaces.read_vector_model, space_id) == CheckedEmbedder(OLD).stamp
    assert len(vectors_of(renewed, space_id, OLD)) == ATOMS
    assert renewed.reindex() == 1
    assert_all_new(renewed, space_id, range(ATOMS))


def test_two_who_make_the_same_vectors_at_once_leave_no_place_twice(
    database_url: str, renewed: longmind.Engine, space_id: str
) -> None:
    made: list[int] = []

    def overtake(batch: int) -> None:
        if not made:
            made.append(renewed.reindex())

    with longmind.open(database_url, embedder=WatchedEmbedder(NEW.model, NEW.dimension, overtake)) as engine:
        assert engine.reindex() == 0
    assert made == [ATOMS]
    scope = renewed.context(tenant_id="acme", app_id="support", user_id="ada").scope
    spans = renewed._database.read(
        scope, lambda run: run.all("vector_spans", space_id=space_id, model=CheckedEmbedder(NEW).stamp)
    )
    assert [first for first, _, _ in spans] == [0, 256, 512]
    assert sum(atoms for _, atoms, _ in spans) == ATOMS


def test_recall_does_not_fail_where_the_wish_cannot_be_written_down(sqlite_url: str) -> None:
    with longmind.open(sqlite_url, embedder=OLD) as old:
        space_id = memory_of(old).create_memory_space().id
        memory_of(old).add_atom(space_id, fact("tea"))
    with longmind.open(sqlite_url, embedder=NEW, busy_timeout_seconds=0.1) as engine:
        other = apsw.Connection(sqlite_url.removeprefix("sqlite:///"))
        other.execute("BEGIN IMMEDIATE")
        assert texts_of(memory_of(engine).recall_by_topic(space_id, "tea")) == ["tea"]
        other.execute("ROLLBACK")
        other.close()
        assert engine.work().succeeded == 0
        assert texts_of(memory_of(engine).recall_by_topic(space_id, "tea")) == ["tea"]
        assert engine.work().succeeded == 1


def test_all_users_spaces_are_changed_and_deleted_ones_are_left(database_url: str, space_id: str) -> None:
    with longmind.open(database_url, embedder=OLD) as engine:
        eve = memory_of(engine, "eve")
        theirs, empty, gone = (eve.create_memory_space(name).id for name in ("theirs", "empty", "gone"))
        eve.add_atoms(theirs, [fact("tea"), fact("milk")])
        eve.add_atom(gone, fact("sugar"))
        eve.delete_memory_space(gone)
    with longmind.open(database_url, embedder=NEW) as engine:
        assert engine.reindex() == ATOMS + 2
        eve = memory_of(engine, "eve")
        assert uses_vectors(eve, theirs, "tea")
        assert eve.recall_by_topic(empty, "tea").hits == []
        eve.add_atom(empty, fact("tea"))
        assert uses_vectors(eve, empty, "tea")


def test_a_question_without_a_word_in_common_is_answered_also_while_vectors_are_made(
    database_url: str, renewed: longmind.Engine, space_id: str
) -> None:
    """An answer by words alone would be empty before the change, and for who has the old embedder after it."""
    with longmind.open(database_url, embedder=OLD) as before:
        for _ in range(2):
            for memory in (memory_of(before), memory_of(renewed)):
                found = memory.recall_by_topic(space_id, "quite another matter")
                assert (len(found.hits), found.total_candidates) == (10, ATOMS)
            renewed.work()
        assert uses_vectors(memory_of(renewed), space_id, "quite another matter")


def test_an_embedder_of_the_same_name_with_vectors_of_another_size_is_another_one(
    database_url: str, space_id: str
) -> None:
    resized = WordsEmbedder(OLD.model, OLD.dimension // 2)
    with longmind.open(database_url, embedder=resized) as engine, longmind.open(database_url, embedder=OLD) as before:
        memory = memory_of(engine)
        # To either embedder no other fact has "apart" or "more", so that words are all that finds it without a vector.
        memory.add_atom(space_id, fact("word0 apart more"))
        for each in (memory, memory_of(before)):
            assert "word0 apart more" in texts_of(each.recall_by_topic(space_id, "word0 apart more", limit=3))
        engine.work()
        assert uses_vectors(memory, space_id, "word1 of many")
        assert len(vectors_of(engine, space_id, resized)) == ATOMS + 1
        assert texts_of(memory_of(before).recall_by_topic(space_id, "word1", limit=1)) == ["word1 of many"]


def test_an_embedder_that_was_taken_back_gets_its_vectors_again(database_url: str, space_id: str) -> None:
    clock = SettableClock()
    with (
        longmind.open(database_url, embedder=OLD, clock=clock) as before,
        longmind.open(database_url, embedder=NEW, clock=clock) as after,
    ):
        for engine in (after, before, after, before):
            memory_of(engine).recall_by_topic(space_id, "word1")
            assert engine.work().succeeded == 1
            assert uses_vectors(memory_of(engine), space_id, "word1")
            clock.advance(300)


def test_two_embedders_do_not_take_a_space_away_from_each_other_all_the_time(database_url: str, space_id: str) -> None:
    clock = SettableClock()
    with (
        longmind.open(database_url, embedder=OLD, clock=clock) as one,
        longmind.open(database_url, embedder=NEW, clock=clock) as other,
    ):
        changes = 0
        for _ in range(5):
            for engine in (one, other):
                assert memory_of(engine).recall_by_topic(space_id, "word1").hits
                changes += engine.work().succeeded
            clock.advance(60)
        assert changes == 2


def test_recall_writes_nothing_while_vectors_are_being_made(
    database_url: str, space_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    def wait(texts: int) -> None:
        begun.set()
        assert may_go_on.wait(60)

    with (
        longmind.open(database_url, embedder=WatchedEmbedder(NEW.model, NEW.dimension, wait)) as working,
        longmind.open(database_url, embedder=NEW) as engine,
        ThreadPoolExecutor(1) as pool,
    ):
        memory = memory_of(engine)
        memory.recall_by_topic(space_id, "word1")
        done = pool.submit(working.work)
        try:
            assert begun.wait(60)
            with monkeypatch.context() as patch:
                # Nobody who recalls has to wait for those who write.
                patch.setattr(engine._database, "write", None)
                for number in range(5):
                    assert memory.recall_by_topic(space_id, f"word{number}").hits
        finally:
            may_go_on.set()
        assert done.result().succeeded == 1


def test_a_change_of_size_is_left_to_an_engine_with_vectors_of_that_size(database_url: str, space_id: str) -> None:
    clock = SettableClock()
    resized = WordsEmbedder(OLD.model, OLD.dimension // 2)
    with (
        longmind.open(database_url, embedder=OLD, clock=clock) as before,
        longmind.open(database_url, embedder=resized, clock=clock) as after,
    ):
        memory_of(after).recall_by_topic(space_id, "word1")
        assert before.work().succeeded == 0
        clock.advance(60)
        assert after.work().succeeded == 1
        assert uses_vectors(memory_of(after), space_id, "word1")


def test_a_change_of_size_that_nobody_is_left_for_is_given_up(database_url: str, space_id: str) -> None:
    clock = SettableClock()
    with longmind.open(database_url, embedder=WordsEmbedder(OLD.model, OLD.dimension // 2), clock=clock) as gone:
        memory_of(gone).recall_by_topic(space_id, "word1")
    with longmind.open(database_url, embedder=OLD, clock=clock) as engine:
        assert engine.work().succeeded == 0
        clock.advance(3_601)
        assert engine.work().succeeded == 1
        assert len(vectors_of(engine, space_id, OLD)) == ATOMS


def test_a_wish_that_is_dead_is_left_alone_for_an_hour(database_url: str, space_id: str) -> None:
    clock, broken = SettableClock(), True

    def fail(texts: int) -> None:
        if broken:
            raise ConnectionError

    with longmind.open(database_url, embedder=WatchedEmbedder("test:failing", 24, fail), clock=clock) as engine:
        context = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        context.memory.recall_by_topic(space_id, "word1")
        while engine.work().dead == 0:
            clock.advance(3_000)
        broken = False
        for seconds, done in ((0, 0), (1_800, 0), (1_800, 1)):
            clock.advance(seconds)
            context.memory.recall_by_topic(space_id, "word1")
            assert engine.work().succeeded == done
        assert uses_vectors(context.memory, space_id, "word1")
