"""Recall shows a space as it was at one instant, also while others write to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import recollect
from harness.crew import ada
from recollect import store
from recollect.clock import system_clock
from recollect.memory import Memory
from tests.embedder import WordsEmbedder

CHANGES = 60


def _home(town: str) -> dict[str, object]:
    return {"text": f"Ada lives in {town}.", "category": {"name": "home", "kind": "FACT"}}


def _texts(ctx: recollect.Context, space_id: str) -> list[str]:
    return [hit.atom.text for hit in ctx.memory.recall_by_topic(space_id, "Where does Ada live?", limit=100).hits]


def test_a_fact_that_is_replaced_just_after_recall_has_looked_at_the_clock_is_not_shown_beside_the_new_one(
    database_url: str,
) -> None:
    meanwhile: list[Callable[[], object]] = []

    def clock() -> int:
        now = system_clock()
        while meanwhile:
            meanwhile.pop()()
        return now

    with ada(database_url, embedder=None, clock=clock) as (_, ctx), ada(database_url, embedder=None) as (_, other):
        space = ctx.memory.create_memory_space("home")
        atom = ctx.memory.add_atom(space.id, _home("Oslo"))
        meanwhile.append(lambda: other.memory.supersede_atom(atom.id, _home("Rome")))

        assert _texts(ctx, space.id) == ["Ada lives in Rome."]


class _Interrupted(WordsEmbedder):
    """Lets something happen once while a question is embedded, or hits are read again."""

    meanwhile: Callable[[], object] | None = None

    def _happen(self) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()

    def embed_query(self, query: str) -> Any:
        self._happen()
        return super().embed_query(query)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self._happen()
        return [0.0] * len(texts)


@pytest.mark.parametrize("while_it_is", ["embedded", "read again"])
def test_what_ends_while_a_question_takes_long_is_not_found_any_more(database_url: str, while_it_is: str) -> None:
    slow = _Interrupted()
    embedder, reranker = (slow, None) if while_it_is == "embedded" else (WordsEmbedder(), slow)
    with (
        ada(database_url, embedder=embedder, reranker=reranker) as (_, ctx),
        ada(database_url, embedder=WordsEmbedder()) as (_, other),
    ):
        space = ctx.memory.create_memory_space("home")
        atoms = ctx.memory.add_atoms(space.id, [_home("Oslo"), _home("Kiel")])

        def change() -> None:
            other.memory.supersede_atom(atoms[0].id, _home("Rome"))
            other.memory.archive_atom(atoms[1].id)

        slow.meanwhile = change
        assert _texts(ctx, space.id) == ["Ada lives in Rome."]
        assert slow.meanwhile is None

        slow.meanwhile = lambda: other.memory.delete_memory_space(space.id)
        with pytest.raises(recollect.NotFound):
            _texts(ctx, space.id)


@pytest.mark.parametrize("times", [1, 2, 20])
@pytest.mark.parametrize(
    "recall",
    [
        lambda memory, space_id: memory.recall_by_topic(space_id, "Where does Ada live?"),
        lambda memory, space_id: memory.recall_timeline(space_id, include_superseded=False),
    ],
    ids=["by topic", "timeline"],
)
def test_what_ends_between_the_choice_and_the_fetching_of_hits_is_not_shown(
    database_url: str,
    recall: Callable[[Memory, str], recollect.Recall],
    times: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # An engine of its own, which has kept no atom that need not be fetched.
    with ada(database_url) as (_, ctx), ada(database_url) as (_, other):
        space = other.memory.create_memory_space("home")
        other.memory.add_atoms(space.id, [_home(f"city {number}") for number in range(5)])
        newest = [other.memory.add_atom(space.id, _home("town 0"))]
        fetch = store.atoms.at_positions

        def fetch_late(*args: Any, **kwargs: Any) -> Any:
            if len(newest) <= times:
                newest.append(other.memory.supersede_atom(newest[-1].id, _home(f"town {len(newest)}")))
            return fetch(*args, **kwargs)

        monkeypatch.setattr(store.atoms, "at_positions", fetch_late)
        found = [hit.atom for hit in recall(ctx.memory, space.id).hits]

    assert len(newest) > 1
    assert sorted(atom.text.split()[3] for atom in found) == ["city"] * 5 + ["town"]
    assert {(atom.superseded_by, atom.valid_to) for atom in found} == {(None, None)}


def test_a_fact_that_is_replaced_again_and_again_is_always_found_once(database_url: str) -> None:
    with ada(database_url, embedder=None) as (_, ctx), ada(database_url, embedder=None) as (_, other):
        space = ctx.memory.create_memory_space("home")
        first = ctx.memory.add_atom(space.id, _home("town 0"))
        ended = threading.Event()

        def replace() -> None:
            newest = first
            for number in range(1, CHANGES + 1):
                newest = other.memory.supersede_atom(newest.id, _home(f"town {number}"))
            ended.set()

        writer = threading.Thread(target=replace)
        writer.start()
        seen = []
        while not ended.is_set():
            seen.append(_texts(ctx, space.id))
        writer.join()

        assert [found for found in seen if len(found) != 1] == []
        assert _texts(ctx, space.id) == [f"Ada lives in town {CHANGES}."]
