"""Results of texts asked for lately: found again for a while, bounded, and without the words."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from longmind.providers.embedder import Vectors
from longmind.providers.local.recent_results import RecentResults


class Counter:
    """Computes vectors, and collects the texts that it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str) -> Vectors:
        self.asked.append(text)
        return np.full(4, float(text or 0), np.float32)


@pytest.fixture
def compute() -> Counter:
    return Counter()


def test_a_vector_is_computed_once(compute: Counter) -> None:
    recent = RecentResults[Vectors](seconds=60, most=256)
    first, again, other = (recent.find(text, compute) for text in ("1", "1", "2"))
    assert first.tolist() == again.tolist() == [1, 1, 1, 1]
    assert other.tolist() == [2, 2, 2, 2]
    assert compute.asked == ["1", "2"]


def test_a_vector_is_forgotten_when_its_time_is_over(compute: Counter) -> None:
    recent = RecentResults[Vectors](seconds=0, most=256)
    recent.find("1", compute)
    recent.find("1", compute)
    assert compute.asked == ["1", "1"]


def test_the_oldest_vector_makes_room(compute: Counter) -> None:
    recent = RecentResults[Vectors](seconds=60, most=2)
    for text in ("1", "2", "3", "3", "2", "1"):
        recent.find(text, compute)
    assert compute.asked == ["1", "2", "3", "1"]


def test_the_words_are_not_kept(compute: Counter) -> None:
    recent = RecentResults[Vectors](seconds=60, most=256)
    recent.find("20230514", compute)
    assert len(recent._kept) == 1
    assert b"20230514" not in pickle.dumps(recent._kept)


def test_any_text_can_be_asked_for() -> None:
    def lengths(text: str) -> Vectors:
        return np.array([len(text)], np.float32)

    recent = RecentResults[Vectors](seconds=60, most=256)
    for text in ("", "\ud800", "🍵", "a" * 100_000):
        assert recent.find(text, lengths).tolist() == [len(text)]


def test_a_failure_is_not_kept(compute: Counter) -> None:
    def fail(text: str) -> Vectors:
        raise OSError(text)

    recent = RecentResults[Vectors](seconds=60, most=256)
    with pytest.raises(OSError, match="1"):
        recent.find("1", fail)
    assert recent.find("1", compute).tolist() == [1, 1, 1, 1]


def test_threads_get_the_vectors_of_their_own_texts() -> None:
    recent = RecentResults[Vectors](seconds=60, most=8)
    compute: Callable[[str], Vectors] = Counter()
    texts = [str(number % 24) for number in range(3_000)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: recent.find(text, compute), texts))
    assert [vector[0] for vector in found] == [float(text) for text in texts]
    assert len(recent._kept) <= 8


def test_a_child_process_begins_without_vectors(compute: Counter) -> None:
    recent = RecentResults[Vectors](seconds=60, most=256)
    recent.find("1", compute)
    recent.renew_after_fork()
    recent.find("1", compute)
    assert compute.asked == ["1", "1"]
