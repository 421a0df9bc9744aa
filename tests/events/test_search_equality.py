"""Whatever is recorded and asked for: a search answers what a plain look at every event answers."""

from __future__ import annotations

import random

import pytest

import longmind
from longmind.clock import to_iso
from longmind.events import Events
from longmind.models.event_search import SearchMode
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder
from tests.events.samples import context_of
from tests.events.search_reference import Asked, expected

WORDS = (
    "tea garage zebra alpha beta failure deployment morning blue car open host don't 東京 会議 C++ 42 and the".split()
)
KINDS = ("note", "deploy", "chat")
TAGS = ("a", "b", "c")
MODES: tuple[SearchMode, ...] = ("semantic", "lexical", "hybrid", "structural")
ROUNDS, RECORDED, QUESTIONS = 6, 15, 12


@pytest.mark.patient
@pytest.mark.conforms("D1.11", "D1.12", "D1.15")
@pytest.mark.parametrize("embeds", [True, False], ids=["with an embedder", "without"])
def test_a_search_equals_a_plain_look_at_every_event(database_url: str, clock: SettableClock, embeds: bool) -> None:
    chance = random.Random(f"search {embeds}")
    embedder = WordsEmbedder() if embeds else None
    recorded: list[longmind.Event] = []
    with longmind.open(database_url, embedder=embedder, clock=clock) as engine:
        runs = {run: context_of(engine, session_id="s1", run_id=run).events for run in ("r1", "r2")}
        for _ in range(ROUNDS):
            for _ in range(RECORDED):
                recorded.append(_record(chance, clock, runs))
            for _ in range(QUESTIONS):
                _compare(chance, clock, runs, recorded, embedder)


def _record(chance: random.Random, clock: SettableClock, runs: dict[str, Events]) -> longmind.Event:
    clock.advance(chance.choice((0, 1, 600)))
    past = to_iso(clock.now - chance.randrange(7200) * 1_000_000) if chance.random() < 0.2 else None
    return runs[chance.choice(("r1", "r2"))].record_raw(
        base={
            "kind": chance.choice(KINDS),
            "tags": [tag for tag in TAGS if chance.random() < 0.5],
            **({"ts": past} if past else {}),
        },
        text=" ".join(chance.choices(WORDS, k=chance.randrange(9))),
    )


def _compare(
    chance: random.Random,
    clock: SettableClock,
    runs: dict[str, Events],
    recorded: list[longmind.Event],
    embedder: WordsEmbedder | None,
) -> None:
    mode, run = chance.choice(MODES), chance.choice(("r1", "r2"))
    minutes = chance.choice((None, None, 5, 60))
    narrow = chance.random() < 0.3
    asked = Asked(
        query=" ".join(chance.choices(WORDS, k=chance.randrange(1, 5))),
        mode=mode,
        kinds=chance.choice((None, None, ["note"], ["note", "chat"])),
        tags=chance.choice(([], [], ["a"], ["a", "b"])),
        run_id=run if narrow else None,
        since=None if minutes is None else clock.now - minutes * 60_000_000,
    )
    limit = chance.choice((3, 10, 500))
    found = runs[run].search(
        asked.query,
        kinds=asked.kinds,
        tags=asked.tags,
        limit=limit,
        level="run" if narrow else None,
        time_window=None if minutes is None else f"{minutes}m",
        mode=mode,
    )
    wanted = expected(recorded, embedder, asked)
    known = {event.event_id: event for event in recorded}
    ids = [event.event_id for event in found]
    assert all(event == known[event.event_id] for event in found)
    assert len(set(ids)) == len(ids)
    # Scores rather than events: what scores the same to the last digits but one may come in either order.
    best = sorted(wanted.values(), reverse=True)[:limit]
    assert [wanted[each] for each in ids] == pytest.approx(best, abs=1e-6), asked
