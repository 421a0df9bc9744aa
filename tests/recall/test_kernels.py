"""The compiled inner loops answer what those of numpy answer, and refuse what would lead them astray."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import longmind
from longmind.models.recall import Explanation
from longmind.models.value import list_hidden_attributes
from longmind.recall import kernels as kernel
from longmind.recall.index.atom_columns import FOREVER
from longmind.recall.index.postings import PostingRun, RunArrays
from longmind.recall.index.segments import VectorsSegment, WordsSegment
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.kernels import numpy_best, numpy_kernels, numpy_vectors
from longmind.recall.kernels.numpy_best import Columns, Weights
from longmind.recall.kernels.numpy_kernels import Scale
from longmind.recall.question import understand_question
from longmind.recall.ranking.atoms import AtomQuery, Scores, rank_atoms
from longmind.recall.ranking.decay import FLOOR, RATES

compiled_only = pytest.mark.skipif(kernel.compiled is None, reason="the inner loops were not compiled here")
WORTH = np.tile(np.linspace(0.1, 0.9, 128), 2)
DAY = 24 * 3600 * 1_000_000
NOW = 1_800_000_000_000_000
IMPORTANCE = np.array([0.7, 0.76, 0.82, 0.88, 0.94, 1.0])

sizes = st.sampled_from((0, 1, 2, 7, 8, 9, 30, 500, 5_000))
seeds = st.integers(0, 2**32 - 1)
# Also one that is nearly a step, and one that is nearly flat.
scales_of_questions = st.builds(Scale, st.floats(0, 5), st.floats(-5, 15), st.floats(0.05, 5)) | st.sampled_from(
    (Scale(4.2, 10.0, 1e-9), Scale(4.2, -3.0, 1e3))
)


def weights_of(scale: Scale) -> Weights:
    return Weights(RATES, IMPORTANCE, FLOOR, scale.middle, scale.spread)


def compiled() -> ModuleType:
    assert kernel.compiled is not None
    return kernel.compiled


both_loops = pytest.mark.parametrize("loops", [pytest.param("compiled", marks=compiled_only), "plain"])


def loops_of(name: str) -> Any:
    return compiled() if name == "compiled" else numpy_kernels


def some_runs(chance: np.random.Generator, atoms: int) -> tuple[RunArrays, ...]:
    """Postings of made-up terms, in none, one or several runs."""
    runs = []
    for _ in range(int(chance.integers(0, 4)) if atoms else 0):
        held = np.unique(chance.integers(0, 12, 3 * atoms) * atoms + chance.integers(0, atoms, 3 * atoms))
        codes = chance.integers(0, 256, len(held)).astype(np.uint8)
        runs.append(
            PostingRun.from_postings((held // atoms).astype(np.uint32), (held % atoms).astype(np.uint32), codes).arrays
        )
    return tuple(runs)


def some_mask(chance: np.random.Generator, atoms: int) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = chance.random(atoms) < chance.choice([0.02, 0.5, 1.0])
    return mask


@compiled_only
@given(atoms=sizes, seed=seeds, masked=st.booleans(), terms=st.lists(st.integers(0, 13), unique=True, max_size=8))
def test_words_count_the_same(atoms: int, seed: int, masked: bool, terms: list[int]) -> None:
    chance = np.random.default_rng(seed)
    runs = some_runs(chance, atoms)
    among = some_mask(chance, atoms) if masked else None
    there = atoms if among is None else int(among.sum())
    found, expected = np.zeros(atoms), np.zeros(atoms)
    compiled().word_scores(runs, tuple(terms), WORTH, among, there, found)
    numpy_kernels.word_scores(runs, tuple(terms), WORTH, among, there, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(found > 0, expected > 0)


class Links(NamedTuple):
    """What `window_scores` is told of pieces: their neighbours and how far words reach."""

    amounts: NDArray[np.float64]
    previous: NDArray[np.int32]
    next: NDArray[np.int32]
    need: NDArray[np.float32]
    saturation: float
    weights: tuple[float, float]


def some_links(chance: np.random.Generator, atoms: int, linked: str) -> Links:
    """Links as conversations have them, none, or any at all: in circles, to itself, of several to one."""
    alone = np.full(atoms, -1, np.int32)
    before, after = alone.copy(), alone.copy()
    if linked == "in order" and atoms:
        # Some conversations one after the other, in any order of their places.
        for part in np.array_split(chance.permutation(atoms).astype(np.int32), int(chance.integers(1, 5))):
            before[part[1:]], after[part[:-1]] = part[:-1], part[1:]
    elif linked == "any":
        before, after = (chance.integers(-1, atoms, atoms, np.int32) for _ in range(2))
    need = (chance.random(atoms) * some_mask(chance, atoms)).astype(np.float32)
    weights = (float(chance.random()), float(chance.choice([0.0, 0.3])))
    return Links(np.tile(chance.random(128) * 4, 2), before, after, need, float(chance.uniform(0.1, 2)), weights)


terms_asked = st.lists(st.integers(0, 13), unique=True, max_size=8).map(tuple)


@compiled_only
@given(
    atoms=sizes,
    seed=seeds,
    linked=st.sampled_from(("in order", "any", "not")),
    masked=st.booleans(),
    terms=terms_asked,
)
def test_words_of_windows_count_the_same(
    atoms: int, seed: int, linked: str, masked: bool, terms: tuple[int, ...]
) -> None:
    chance = np.random.default_rng(seed)
    runs, links = some_runs(chance, atoms), some_links(chance, atoms, linked)
    links.amounts[chance.integers(0, 256, 20)] = 0.0
    among = some_mask(chance, atoms) if masked else None
    there = atoms if among is None else int(among.sum())
    before = chance.random(atoms)
    found, expected = before.copy(), before.copy()
    compiled().window_scores(runs, terms, *links, among, there, found)
    numpy_kernels.window_scores(runs, terms, *links, among, there, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(found > before, expected > before)


@both_loops
@given(atoms=sizes, seed=seeds, masked=st.booleans(), terms=terms_asked)
def test_a_piece_without_neighbours_is_a_text_by_itself(
    loops: str, atoms: int, seed: int, masked: bool, terms: tuple[int, ...]
) -> None:
    chance = np.random.default_rng(seed)
    # One run at most, so that no text holds a word twice.
    runs, links = some_runs(chance, atoms)[:1], some_links(chance, atoms, "not")
    among = some_mask(chance, atoms) if masked else None
    there = atoms if among is None else int(among.sum())
    alone, found = np.zeros(atoms), np.zeros(atoms)
    worth = links.amounts / (links.saturation + links.amounts)
    loops_of(loops).word_scores(runs, terms, worth, among, there, alone)
    loops_of(loops).window_scores(runs, terms, *links, among, there, found)
    np.testing.assert_allclose(found, alone, rtol=1e-12)


@both_loops
@given(atoms=sizes, seed=seeds, linked=st.sampled_from(("in order", "any")), terms=terms_asked)
def test_words_around_a_piece_never_count_against_it(
    loops: str, atoms: int, seed: int, linked: str, terms: tuple[int, ...]
) -> None:
    chance = np.random.default_rng(seed)
    runs, links = some_runs(chance, atoms), some_links(chance, atoms, linked)
    alone, found = np.zeros(atoms), np.zeros(atoms)
    nobody = np.full(atoms, -1, np.int32)
    loops_of(loops).window_scores(runs, terms, *links._replace(previous=nobody, next=nobody), None, atoms, alone)
    loops_of(loops).window_scores(runs, terms, *links, None, atoms, found)
    assert (found >= alone - 1e-12).all()
    # A piece that needs nobody gets nothing from its neighbours.
    np.testing.assert_array_equal(found[links.need == 0], alone[links.need == 0])


@both_loops
def test_a_word_reaches_two_pieces_on_each_side_and_no_farther(loops: str) -> None:
    terms, starts = np.array([3], np.uint32), np.array([0, 1], np.uint32)
    run = (terms, starts, np.array([4], np.uint32), np.array([200], np.uint8), np.array([1], np.uint32))
    previous, next = np.arange(-1, 8, dtype=np.int32), np.append(np.arange(1, 9, dtype=np.int32), np.int32(-1))
    scores = np.zeros(9)
    needs, amounts = np.ones(9, np.float32), np.ones(256)
    loops_of(loops).window_scores((run,), (3,), amounts, previous, next, needs, 1.0, (0.5, 0.25), None, 9, scores)
    assert scores == pytest.approx([0, 0, 0.2, 1 / 3, 0.5, 1 / 3, 0.2, 0, 0])


@compiled_only
@pytest.mark.parametrize("far", [4, 5, 2**31 - 1, -2, -(2**31)])
def test_links_to_pieces_that_are_not_there_lead_nowhere(far: int) -> None:
    found, expected = np.zeros(4), np.zeros(4)
    links, nobody = np.full(4, far, np.int32), np.full(4, -1, np.int32)
    compiled().window_scores(*window_arguments(previous=links, next=links, scores=found))
    compiled().window_scores(*window_arguments(previous=nobody, next=nobody, scores=expected))
    assert found.tolist() == expected.tolist()


@compiled_only
def test_postings_that_name_one_piece_again_and_again_do_no_harm() -> None:
    many = 10_000
    for amount in (0.0, 1.0, -1.0, math.nan, math.inf, 1e308):
        run = {
            "terms": np.array([3], np.uint32),
            "starts": np.array([0, many], np.uint32),
            "places": np.zeros(many, np.uint32),
            "codes": np.zeros(many, np.uint8),
            "own": np.array([4], np.uint32),
        }
        scores = np.zeros(4)
        compiled().window_scores(*window_arguments(**run, amounts=np.full(256, amount), scores=scores))
        assert scores[3] == 0
        assert amount > 0 or not scores.any()


@compiled_only
@given(
    atoms=sizes,
    # Beside what a processor compares at once, and no sum beyond what 32 bits of a fraction hold exactly.
    width=st.sampled_from((1, 3, 15, 16, 17, 31, 33, 64, 384, 1_000)),
    seed=seeds,
    length=st.sampled_from((0.0, 1e-42, 1e-30, 1.0, 1e6)),
)
def test_vectors_are_as_alike(atoms: int, width: int, seed: int, length: float) -> None:
    chance = np.random.default_rng(seed)
    query = (chance.uniform(-1, 1, width) * length).astype(np.float32)
    rows = chance.integers(-127, 128, (atoms, width)).astype(np.int8)
    scales = (chance.random(atoms) * some_mask(chance, atoms)).astype(np.float32)
    found, expected = np.empty(atoms, np.float32), np.empty(atoms, np.float32)
    compiled().likeness(query, rows, scales, found)
    numpy_kernels.likeness(query, rows, scales, expected)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.isnan(found), scales == 0)
    finer = chance.integers(-128, 128, (atoms, width)).astype(np.int8)
    finely, expected_finely = np.empty(atoms), np.empty(atoms)
    compiled().fine_likeness(query, rows, finer, scales, finely)
    numpy_kernels.fine_likeness(query, rows, finer, scales, expected_finely)
    np.testing.assert_array_equal(finely, expected_finely)
    np.testing.assert_array_equal(np.isnan(finely), scales == 0)


@compiled_only
def test_the_widest_vectors_are_compared_without_an_overflow() -> None:
    width = 1 << 17
    query, scales = np.full(width, 127, np.float32), np.ones(2, np.float32)
    found, finely = np.empty(2, np.float32), np.empty(2)
    rows = np.full((2, width), -128, np.int8)
    rows[1] = 127
    compiled().likeness(query, rows, scales, found)
    assert found.tolist() == [-128.0 * 127 * width, np.float32(127.0 * 127 * width)]
    compiled().fine_likeness(query, rows, rows, scales, finely)
    assert finely.tolist() == [-128.5 * 127 * width, (127 + 127 / 256) * 127 * width]


def unit_vectors(chance: np.random.Generator, atoms: int, width: int) -> NDArray[np.float32]:
    """Some alike, and some of which one number outweighs all others."""
    drawn = chance.normal(size=(atoms, width)) + chance.choice([0.0, 1.0]) * chance.normal(size=width)
    drawn[:, 0] *= chance.choice([1.0, 50.0])
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), np.float32)


@given(
    atoms=st.sampled_from((1, 40, 300)),
    width=st.sampled_from((1, 3, 64, 384)),
    seed=seeds,
)
def test_what_is_known_roughly_is_wrong_by_no_more_than_is_said(atoms: int, width: int, seed: int) -> None:
    vectors = unit_vectors(np.random.default_rng(seed), atoms + 1, width)
    query, kept = vectors[0], VectorsSegment.from_vectors(vectors[1:])
    roughly, finely = np.empty(atoms, np.float32), np.empty(atoms)
    numpy_kernels.likeness(query, kept.rows, kept.scales, roughly)
    numpy_kernels.fine_likeness(query, kept.rows, kept.finer, kept.scales, finely)
    assert np.abs(finely - roughly).max() <= numpy_vectors.measure_largest_error(query, kept.scales)
    assert np.abs(finely - vectors[1:].astype(np.float64) @ query).max() < 5e-5


fields_of_explanations = st.fixed_dictionaries(
    {
        name: st.floats(allow_nan=False) | st.none() | st.integers() | st.lists(st.text(max_size=3), max_size=2)
        for name in Explanation.model_fields
    }
)


NAMES = tuple(Explanation.model_fields)


def in_columns(fields: list[dict[str, Any]]) -> tuple[list[Any], ...]:
    return tuple([each[name] for each in fields] for name in NAMES)


def assert_usable_like_any_other(found: list[Explanation], fields: list[dict[str, Any]]) -> None:
    assert [type(each) for each in found] == [Explanation] * len(fields)
    assert pickle.loads(pickle.dumps(found)) == copy.deepcopy(found) == [each.model_copy() for each in found] == found
    for each, given_to_it in zip(found, fields, strict=True):
        assert gc.is_tracked(each)
        assert each.__dict__ == given_to_it
        assert each.model_fields_set == Explanation.model_fields.keys()
        assert (each.model_extra, each.__pydantic_private__) == (None, None)
        changed: Any = each.model_copy(update={"lexical": "other"})
        assert (changed.lexical, each.lexical) == ("other", given_to_it["lexical"])
        with pytest.raises(ValueError, match="frozen"):
            each.lexical = 1.0


@compiled_only
@given(fields=st.lists(fields_of_explanations, max_size=4))
def test_values_are_the_same_and_can_be_used_like_any_other(fields: list[dict[str, Any]]) -> None:
    beside = list_hidden_attributes(Explanation)
    found = compiled().values(Explanation, beside, NAMES, in_columns(fields))
    assert found == numpy_kernels.values(Explanation, beside, NAMES, in_columns(fields))
    assert_usable_like_any_other(found, fields)
    assert beside == list_hidden_attributes(Explanation)


OWN, LISTS = ("dense", "lexical"), ("rerank", "dense_rank")
members = st.lists(st.text(max_size=3), max_size=2).map(tuple)


@given(
    fields=st.lists(st.tuples(fields_of_explanations, st.none() | st.tuples(members, members)), max_size=4),
    places=st.lists(st.integers(0, 5), max_size=6),
)
def test_what_is_kept_is_made_anew_each_time(
    fields: list[tuple[dict[str, Any], tuple[Any, Any] | None]], places: list[int]
) -> None:
    kept = {at: (common, "own", at, lists, "more") for at, (common, lists) in enumerate(fields)}
    before, beside = copy.deepcopy(kept), list_hidden_attributes(Explanation)
    for loops in filter(None, (kernel.compiled, numpy_kernels)):
        for _ in range(2):
            found = loops.copy_values(Explanation, beside, OWN, LISTS, kept, places)
            assert [each is None for each in found] == [place not in kept for place in places]
            there = [(place, each) for place, each in zip(places, found, strict=True) if each is not None]
            expected = []
            for place, _ in there:
                lists = fields[place][1] or ((), ())
                own = dict(zip((*OWN, *LISTS), ("own", place, list(lists[0]), list(lists[1])), strict=True))
                expected.append(fields[place][0] | own)
            assert_usable_like_any_other([each for _, each in there], expected)
            for _, each in there:
                # They are its owner's, and nobody else's.
                each.rerank.append("mine")
                each.__dict__["dense"] = "changed"
            assert kept == before


@compiled_only
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (("Explanation", (), ("a",), ([],)), TypeError),
        ((Explanation, None, ("a",), ([],)), TypeError),
        ((Explanation, (), ["a"], ([],)), SystemError),
        ((Explanation, (), ("a",), [[]]), SystemError),
        ((Explanation, (), ("a",), ((),)), SystemError),
        ((Explanation, (), ("a", "b"), ([],)), ValueError),
        ((Explanation, (), (), ()), ValueError),
        ((Explanation, (), ("a", "b"), ([1, 2], [1])), IndexError),
        ((Explanation, (), ([],), ([1],)), TypeError),
        ((Explanation, ((1, 2),), ("a",), ([1],)), TypeError),
        ((Explanation, ((list_hidden_attributes(Explanation)[0][0],),), ("a",), ([1],)), IndexError),
        ((float, (), ("a",), ([1],)), AttributeError),
        ((Explanation, ()), TypeError),
    ],
)
def test_values_that_cannot_be_made_are_refused(wrong: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        compiled().values(*wrong)


@compiled_only
@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"kind": "Explanation"}, TypeError),
        ({"own": ["dense"]}, SystemError),
        ({"own": ("dense", "lexical", "a", "b")}, ValueError),
        ({"lists": None}, SystemError),
        ({"lists": (*LISTS, "more")}, IndexError),
        ({"kept": None}, TypeError),
        ({"kept": {0: [{}, 1, 2, None]}}, SystemError),
        ({"kept": {0: (None, 1, 2, None)}}, SystemError),
        ({"kept": {0: ({}, 1, 2, ((), 5))}}, TypeError),
        ({"places": (0,)}, SystemError),
        ({"places": [0, []]}, TypeError),
    ],
)
def test_what_is_kept_wrongly_is_refused(changed: dict[str, Any], error: type[Exception]) -> None:
    kept: dict[int, Any] = {0: ({}, 1, 2, (("a",), ("b",)))}
    right: dict[str, Any] = {"kind": Explanation, "beside": (), "own": OWN, "lists": LISTS, "kept": kept, "places": [0]}
    assert len(compiled().copy_values(*right.values())) == 1
    with pytest.raises(error):
        compiled().copy_values(*(right | changed).values())


@compiled_only
def test_values_are_let_go_of_also_by_who_is_half_done_and_in_a_circle() -> None:
    beside, mine = list_hidden_attributes(Explanation), object()
    known = beside[0][1]
    watched = (mine, known, Explanation, *NAMES, *(pair[0] for pair in beside))
    common = dict.fromkeys(NAMES, mine)
    kept: dict[int, Any] = dict.fromkeys(range(50), (common, mine, mine, ((mine,), ()), 1))
    gc.collect()
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(3):
        made = compiled().values(Explanation, beside, ("lexical",), ([mine] * 50,))
        made += compiled().copy_values(Explanation, beside, OWN, LISTS, kept, list(range(60)))[:50]
        for value in made:
            value.__dict__["dense"] = value
        del value, made
        with pytest.raises(TypeError):
            compiled().values(Explanation, (*beside, (1, 2)), ("lexical",), ([mine] * 50,))
        with pytest.raises(IndexError):
            compiled().values(Explanation, beside, ("lexical", "dense"), ([mine] * 50, [mine] * 20))
        with pytest.raises(TypeError):
            compiled().copy_values(
                Explanation, beside, OWN, LISTS, kept | {49: (common, mine, mine, (5,))}, list(range(50))
            )
    gc.collect()
    assert [sys.getrefcount(each) for each in watched] == before


@compiled_only
@given(
    atoms=sizes,
    seed=seeds,
    dense=st.sampled_from(("finely", "roughly", "not")),
    lacking=st.booleans(),
    usual=st.sampled_from((None, (0.1, 0.2), (0.0, 0.0))),
)
def test_what_speaks_for_an_atom_adds_up_the_same(
    atoms: int, seed: int, dense: str, lacking: bool, usual: tuple[float, float] | None
) -> None:
    chance = np.random.default_rng(seed)
    counted = None
    likeness = chance.uniform(-1, 1, atoms).astype(np.float32) if dense != "not" else None
    finely = likeness + chance.uniform(-0.01, 0.01, atoms) if likeness is not None and dense == "finely" else None
    if lacking:
        counted = some_mask(chance, atoms)
        for each in (likeness, finely):
            if each is not None:
                each[~counted] = np.nan
    unsure = float(chance.choice([0.0, 0.01, 100.0]))
    given_to_both = (chance.random(atoms), likeness, finely, unsure, counted, usual, 30, 4.2, chance.random(atoms))
    found, expected = np.empty(atoms), np.empty(atoms)
    by = compiled().total(*given_to_both, found)
    assert by == pytest.approx(numpy_kernels.total(*given_to_both, expected), rel=1e-6)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def some_columns(chance: np.random.Generator, atoms: int) -> Columns:
    """With many equals, so that all that equals are ordered by is needed."""
    return Columns(
        chance.integers(0, len(RATES), atoms).astype(np.uint8),
        chance.integers(0, 6, atoms).astype(np.uint8),
        NOW + chance.choice([-900, -30, 0, 5], atoms) * DAY,
        NOW + chance.choice([-900, -30, 0, 5], atoms) * DAY,
        np.char.add(b"atom-", chance.permutation(atoms).astype("S31")).astype("S37"),
    )


@compiled_only
@given(
    atoms=sizes,
    seed=seeds,
    limit=st.sampled_from((0, 1, 2, 10, 200)),
    scale=scales_of_questions,
    mentioned=st.booleans(),
    known_at=st.sampled_from((FOREVER, NOW, NOW - 100 * DAY)),
    coarse=st.booleans(),
)
def test_the_best_are_the_same_in_the_same_order(
    atoms: int, seed: int, limit: int, scale: Scale, mentioned: bool, known_at: int, coarse: bool
) -> None:
    chance = np.random.default_rng(seed)
    standing = scale.middle + scale.spread * chance.normal(-1, 4, atoms)
    if coarse:
        standing = standing.round()
    columns = some_columns(chance, atoms)
    if coarse:
        # Of one kind and importance, and as good as new: the scores themselves are equal.
        columns = columns._replace(
            kinds=np.zeros(atoms, np.uint8), importance=np.ones(atoms, np.uint8), fresh_at=np.full(atoms, NOW)
        )
        known_at = FOREVER
    bonus = chance.choice([1.0, 1.5, 2.0], atoms) if mentioned else None
    given_to_both = (
        standing,
        some_mask(chance, atoms),
        bonus,
        columns,
        weights_of(scale),
        2.0 if mentioned else 1.0,
        known_at,
        NOW,
    )
    (places, *factors), (expected_places, *expected_factors) = (
        loops.best(*given_to_both, limit) for loops in (compiled(), numpy_kernels)
    )
    np.testing.assert_allclose(factors, expected_factors, rtol=1e-12)
    assert places == expected_places


@both_loops
@given(
    seed=seeds,
    limit=st.integers(1, 12),
    scale=scales_of_questions,
    mentioned=st.booleans(),
    alike=st.booleans(),
)
def test_the_best_are_those_of_all_also_where_similarity_has_an_end(
    loops: str, seed: int, limit: int, scale: Scale, mentioned: bool, alike: bool
) -> None:
    chance = np.random.default_rng(seed)
    # Where the curve is 1, where it is none but the weights still tell, and where it is as low as it can be.
    ends = np.array([-math.inf, -1e6, -701, -700, -699.5, -40, -1, 0, 1, 37, 699.5, 700, 701, 1e6, math.inf])
    standing = scale.middle + scale.spread * chance.choice(chance.choice(ends, 1 if alike else 4), 12)
    columns = some_columns(chance, 12)
    bonus = chance.choice([1.0, 1.5, 2.0], 12) if mentioned else None
    weights, matching = weights_of(scale), some_mask(chance, 12)
    most = 2.0 if mentioned else 1.0
    found = loops_of(loops).best(standing, matching, bonus, columns, weights, most, FOREVER, NOW, limit)

    there = matching.nonzero()[0]
    factors = numpy_best.compute_factors(there, standing, bonus, columns, weights, FOREVER, NOW)
    expected = np.lexsort((columns.ids[there], -columns.valid_from[there], -factors.odds))[:limit]
    np.testing.assert_allclose(found[5], factors.final[expected], rtol=1e-10)
    assert found[0] == there[expected].tolist()


@both_loops
@given(
    seed=seeds,
    scale=scales_of_questions,
    mentioned=st.booleans(),
    away=st.lists(st.floats(-1e4, 1e4) | st.sampled_from((-math.inf, math.inf)), max_size=12),
)
def test_a_score_is_the_probability_that_its_odds_stand_for(
    loops: str, seed: int, scale: Scale, mentioned: bool, away: list[float]
) -> None:
    chance, atoms = np.random.default_rng(seed), len(away)
    standing = scale.middle + scale.spread * np.array(away)
    columns, everything = some_columns(chance, atoms), np.ones(atoms, np.bool_)
    bonus = chance.choice([1.0, 1.5, 2.0], atoms) if mentioned else None
    wish = (2.0 if mentioned else 1.0, FOREVER, NOW, atoms)
    places, similarity, *others, final = loops_of(loops).best(
        standing, everything, bonus, columns, weights_of(scale), *wish
    )
    assert sorted(places) == list(range(atoms))
    assert final == sorted(final, reverse=True)
    odds = []
    for place, alone, factors, score in zip(places, similarity, zip(*others, strict=True), final, strict=True):
        logit = min(max((float(standing[place]) - scale.middle) / scale.spread, -700.0), 700.0)
        odds.append(logit + math.log(math.prod(factors)))
        assert 0 <= alone <= 1
        assert 0 <= score <= 1
        assert alone == pytest.approx(1 / (1 + math.exp(-logit)), rel=1e-9)
        assert score == pytest.approx(1 / (1 + math.exp(-odds[-1])), rel=1e-9)
        if 1e-6 < alone < 1 - 1e-6:
            # Age, importance and entities multiply the odds.
            assert score / (1 - score) == pytest.approx(alone / (1 - alone) * math.prod(factors), rel=1e-6)
    assert all(one >= other - 1e-9 for one, other in pairwise(odds))


@both_loops
def test_odds_order_what_is_as_good_as_certain(loops: str) -> None:
    scale = Scale(3.5, 8.0, 1.2)
    columns = some_columns(np.random.default_rng(1), 4)
    columns = columns._replace(fresh_at=np.full(4, NOW), importance=np.array([1, 5, 3, 4], np.uint8))
    standing = np.full(4, scale.middle + 50 * scale.spread)
    standing[0] = scale.middle + 52 * scale.spread
    weights = weights_of(scale)
    found = loops_of(loops).best(standing, np.ones(4, np.bool_), None, columns, weights, 1.0, FOREVER, NOW, 4)
    assert found[5] == [1.0] * 4
    assert found[0] == [0, 1, 3, 2]


@both_loops
def test_what_is_new_and_important_comes_before_much_that_is_alike_and_old(loops: str) -> None:
    old = Columns(
        np.zeros(40, np.uint8),
        np.ones(40, np.uint8),
        np.full(40, NOW - 9_000 * DAY),
        np.arange(40)[::-1].copy(),
        np.array([f"atom-{place:02}".encode() for place in range(40)], "S37"),
    )
    old.importance[0], old.fresh_at[0] = 5, NOW
    standing = np.full(40, 11.0)
    standing[0] = 9.5
    weights = weights_of(Scale(0.0, 10.0, 1.0))
    found = loops_of(loops).best(standing, np.ones(40, np.bool_), None, old, weights, 1.0, FOREVER, NOW, 2)
    assert found[0] == [0, 1]
    odds = [math.exp(-0.5), math.exp(1.0) * FLOOR * 0.76]
    assert found[5] == pytest.approx([each / (1 + each) for each in odds])


@both_loops
def test_of_nothing_nothing_is_best(loops: str) -> None:
    chance, weights = np.random.default_rng(1), weights_of(Scale(3.5, 8.0, 1.2))
    for atoms, limit in ((0, 0), (0, 5), (3, 0), (100, 0), (20_000, 0)):
        for matching in (np.ones(atoms, np.bool_), np.zeros(atoms, np.bool_)):
            columns, wish = some_columns(chance, atoms), (1.0, FOREVER, NOW, limit)
            found = loops_of(loops).best(chance.random(atoms), matching, None, columns, weights, *wish)
            assert [list(each) for each in found] == [[]] * 6


@compiled_only
@given(
    atoms=sizes,
    seed=seeds,
    width=st.sampled_from((1, 16, 65, 128)),
    limit=st.sampled_from((1, 10, 200)),
    terms=st.lists(st.integers(0, 13), unique=True, max_size=5),
    meaning=st.sampled_from(("compared", "known", "none", "no vectors")),
    known=st.booleans(),
    mentioned=st.booleans(),
    beside=st.booleans(),
    usual=st.sampled_from((None, (0.1, 0.2))),
    scale=scales_of_questions,
)
def test_all_at_once_is_what_one_after_the_other_gives(
    atoms: int,
    seed: int,
    width: int,
    limit: int,
    terms: list[int],
    meaning: str,
    known: bool,
    mentioned: bool,
    beside: bool,
    usual: tuple[float, float] | None,
    scale: Scale,
) -> None:
    chance = np.random.default_rng(seed)
    runs, columns = some_runs(chance, atoms), some_columns(chance, atoms)
    vectors = unit_vectors(chance, atoms + 1, width)
    kept = VectorsSegment.from_vectors(vectors[1:])
    rows, finer = (None, None) if meaning == "no vectors" else (kept.rows, kept.finer)
    scales, rest = kept.scales * some_mask(chance, atoms), chance.random(atoms)
    among = some_mask(chance, atoms) if known else None
    there = atoms if among is None else int(among.sum())
    counted = scales != 0 if among is None else among & (scales != 0)
    vector = roughly = None
    if meaning != "none":
        vector = vectors[0]
    if meaning == "known":
        roughly = np.empty(atoms, np.float32)
        numpy_kernels.likeness(vectors[0], kept.rows, scales, roughly)
    matching = some_mask(chance, atoms)
    bonus = chance.choice([1.0, 1.5, 2.0], atoms) if mentioned else None
    more = chance.random(atoms) if beside else None
    wish = (bonus, 2.0 if mentioned else 1.0, FOREVER, NOW, limit)

    lexical, sums = np.zeros(atoms), np.empty(atoms)
    compiled().word_scores(runs, tuple(terms), WORTH, among, there, lexical)
    likeness, finely = None, None
    if vector is not None and rows is not None:
        likeness, finely = np.empty(atoms, np.float32), np.empty(atoms)
        compiled().likeness(vector, rows, scales, likeness)
        compiled().fine_likeness(vector, rows, finer, scales, finely)
    unsure = 0.0 if vector is None else numpy_vectors.measure_largest_error(vector, scales)
    context = rest if more is None else more
    compiled().total(lexical, likeness, finely, unsure, counted, usual, 30, scale.words_weight, context, sums)
    expected = compiled().best(sums, matching, bonus, columns, weights_of(scale), *wish[1:])

    # The middle and the spread of a question count in place of those that are held.
    held = (runs, WORTH, rows, finer, scales, rest, 30, columns, weights_of(Scale(0.0, 1e3, 1e-3)))
    question = (tuple(terms), vector, roughly, among, there, counted, usual, more, matching, *wish, scale)
    found, matches = compiled().rank(compiled().hold(*held), *question)
    assert (found, matches) == (expected, matching.sum())
    plain, matches = numpy_kernels.rank(numpy_kernels.hold(*held), *question)
    assert (plain[0], matches) == (expected[0], matching.sum())
    np.testing.assert_allclose(plain[1:], expected[1:], rtol=1e-6)


TEXTS = ("tea with milk", "coffee at five", "tea at five")


def index_of(texts: Sequence[str], vectors: NDArray[np.float32] | None = None) -> SpaceIndex:
    index = SpaceIndex.from_words(WordsSegment.from_texts(texts, [()] * len(texts)))
    if vectors is not None:
        index.add_vectors(0, VectorsSegment.from_vectors(vectors))
    return index


def ranked_in(index: SpaceIndex, vector: NDArray[np.float32] | None = None) -> tuple[Scores, int]:
    query = AtomQuery(understand_question("tea", (), NOW), vector, None, None, True, False, {})
    return rank_atoms(index, query, index.present.values, 4, NOW)


def test_vectors_that_come_or_go_after_a_question_count_in_the_next_one() -> None:
    index, chance = index_of(TEXTS), np.random.default_rng(1)
    without = ranked_in(index)
    for width in (4, 8):
        vectors = chance.normal(size=(len(TEXTS), width)).astype(np.float32)
        index.add_vectors(0, VectorsSegment.from_vectors(vectors))
        found = ranked_in(index, vectors[1])
        assert found == ranked_in(index_of(TEXTS, vectors), vectors[1]) != without
        index.drop_vectors()
        assert ranked_in(index, vectors[1]) == without


def test_words_that_come_after_a_question_to_places_that_are_there_count_in_the_next_one() -> None:
    index = index_of(TEXTS)
    index.grow(4)
    index.present.values[:] = True
    ranked_in(index)
    index.add_words(3, WordsSegment.from_texts(["tea"], [()]))
    assert ranked_in(index) == ranked_in(index_of([*TEXTS, "tea"]))


def words_arguments(**changed: Any) -> tuple[Any, ...]:
    terms, starts = np.array([3, 5], np.uint32), np.array([0, 1, 3], np.uint32)
    places, codes = np.array([0, 1, 3], np.uint32), np.array([1, 2, 200], np.uint8)
    run = {"terms": terms, "starts": starts, "places": places, "codes": codes, "own": np.array([0, 1], np.uint32)}
    right = {"asked": (3, 5), "worth": WORTH, "among": None, "atoms": 4, "scores": np.zeros(4)}
    run |= {name: value for name, value in changed.items() if name in run}
    right |= {name: value for name, value in changed.items() if name in right}
    return (tuple(run.values()),), *right.values()


def window_arguments(**changed: Any) -> tuple[Any, ...]:
    words = {name: changed[name] for name in ("terms", "starts", "places", "codes", "own") if name in changed}
    (runs, *_) = words_arguments(**words)
    right: dict[str, Any] = {
        "runs": runs,
        "asked": (3, 5),
        "amounts": np.tile(np.linspace(0.1, 5, 128), 2),
        "previous": np.array([-1, 0, 1, 2], np.int32),
        "next": np.array([1, 2, 3, -1], np.int32),
        "need": np.ones(4, np.float32),
        "saturation": 0.5,
        "weights": (0.5, 0.3),
        "among": None,
        "atoms": 4,
        "scores": np.zeros(4),
    }
    return tuple((right | {name: value for name, value in changed.items() if name in right}).values())


def best_arguments(**changed: Any) -> tuple[Any, ...]:
    chance = np.random.default_rng(1)
    columns = some_columns(chance, 4)
    columns = columns._replace(**{name: value for name, value in changed.items() if name in columns._fields})
    weights = Weights(RATES, IMPORTANCE, FLOOR, 10.0, 0.7)
    weights = weights._replace(**{name: value for name, value in changed.items() if name in weights._fields})
    right: dict[str, Any] = {
        "standing": np.ones(4),
        "matching": np.ones(4, np.bool_),
        "bonus": None,
        "columns": columns,
        "weights": weights,
        "most": 1.0,
        "known_at": FOREVER,
        "now": NOW,
        "limit": 2,
    }
    return tuple((right | {name: value for name, value in changed.items() if name in right}).values())


def hold_arguments(**changed: Any) -> tuple[Any, ...]:
    ((run,), *_), (_, _, _, columns, weights, *_) = words_arguments(**changed), best_arguments(**changed)
    right: dict[str, Any] = {
        "runs": (run,),
        "worth": WORTH,
        "rows": np.ones((4, 3), np.int8),
        "finer": np.ones((4, 3), np.int8),
        "scales": np.ones(4, np.float32),
        "rest": np.ones(4),
        "usual_atoms": 30,
        "columns": columns,
        "weights": weights,
    }
    return tuple((right | {name: value for name, value in changed.items() if name in right}).values())


def rank_arguments(**changed: Any) -> tuple[Any, ...]:
    held = {name: changed.pop(name) for name in ("held_places", "held_kinds") if name in changed}
    right: dict[str, Any] = {
        "held": compiled().hold(*hold_arguments(**{name.removeprefix("held_"): held[name] for name in held})),
        "asked": (3, 5),
        "vector": np.ones(3, np.float32),
        "roughly": None,
        "among": None,
        "atoms": 4,
        "counted": None,
        "usual": (0.1, 0.2),
        "rest": None,
        "matching": np.ones(4, np.bool_),
        "bonus": None,
        "most": 1.0,
        "known_at": FOREVER,
        "now": NOW,
        "limit": 2,
        "scale": Scale(4.2, 10.0, 0.7),
    }
    return tuple((right | changed).values())


def total_arguments(**changed: Any) -> tuple[Any, ...]:
    right: dict[str, Any] = {
        "lexical": np.ones(4),
        "roughly": np.ones(4, np.float32),
        "dense": np.ones(4),
        "unsure": 0.1,
        "counted": None,
        "usual": (0.1, 0.2),
        "usual_atoms": 30,
        "words_weight": 4.2,
        "rest": np.ones(4),
        "sums": np.empty(4),
    }
    return tuple((right | changed).values())


def likeness_arguments(**changed: Any) -> tuple[Any, ...]:
    right: dict[str, Any] = {
        "query": np.ones(3, np.float32),
        "rows": np.ones((4, 3), np.int8),
        "scales": np.ones(4, np.float32),
        "found": np.empty(4, np.float32),
    }
    return tuple((right | changed).values())


def fine_likeness_arguments(**changed: Any) -> tuple[Any, ...]:
    query, rows, scales, found = likeness_arguments(**{"found": np.empty(4)} | without(changed, "finer"))
    return query, rows, changed.get("finer", np.ones((4, 3), np.int8)), scales, found


def without(some: dict[str, Any], name: str) -> dict[str, Any]:
    return {each: value for each, value in some.items() if each != name}


ARGUMENTS = {
    "word_scores": words_arguments,
    "window_scores": window_arguments,
    "likeness": likeness_arguments,
    "fine_likeness": fine_likeness_arguments,
    "total": total_arguments,
    "best": best_arguments,
    "hold": hold_arguments,
    "rank": rank_arguments,
}
TOO_WIDE = {
    "query": np.ones((1 << 17) + 1, np.float32),
    "rows": np.empty((0, (1 << 17) + 1), np.int8),
    "scales": np.empty(0, np.float32),
    "found": np.empty(0, np.float32),
}


class AskedTooLate:
    def __index__(self) -> int:
        raise AssertionError

    def __float__(self) -> float:
        raise AssertionError


def locked(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


@compiled_only
@pytest.mark.parametrize("function", ARGUMENTS)
def test_what_is_right_is_taken(function: str) -> None:
    getattr(compiled(), function)(*ARGUMENTS[function]())


@compiled_only
@pytest.mark.parametrize(
    ("function", "changed", "error"),
    [
        ("word_scores", {"places": np.array([0, 1, 4], np.uint32)}, ValueError),
        ("word_scores", {"places": np.array([0, 1, 2**32 - 1], np.uint32)}, ValueError),
        ("word_scores", {"places": np.array([0, 1], np.uint32)}, ValueError),
        ("word_scores", {"codes": np.array([1], np.uint8)}, ValueError),
        ("word_scores", {"starts": np.array([0, 1, 9], np.uint32)}, ValueError),
        ("word_scores", {"starts": np.array([2, 1, 3], np.uint32)}, ValueError),
        ("word_scores", {"starts": np.array([0, 1], np.uint32)}, ValueError),
        ("word_scores", {"own": np.array([0], np.uint32)}, ValueError),
        ("word_scores", {"own": "words"}, TypeError),
        ("word_scores", {"worth": np.ones(128)}, ValueError),
        ("word_scores", {"among": np.ones(3, np.bool_)}, ValueError),
        ("word_scores", {"scores": locked(np.zeros(4))}, (ValueError, BufferError)),
        ("word_scores", {"scores": np.zeros(8)[::2]}, (ValueError, BufferError)),
        ("word_scores", {"asked": (3, -5)}, OverflowError),
        ("word_scores", {"asked": (3, "five")}, TypeError),
        ("word_scores", {"asked": None}, (TypeError, SystemError)),
        ("word_scores", {"atoms": "four"}, TypeError),
        ("likeness", {"query": np.ones(4, np.float32)}, ValueError),
        ("likeness", {"query": np.ones(3)}, ValueError),
        ("likeness", {"query": np.ones(6, np.float32)[::2]}, (ValueError, BufferError)),
        ("likeness", {"query": [1.0, 1.0, 1.0]}, TypeError),
        ("likeness", {"rows": np.ones((3, 3), np.int8)}, ValueError),
        ("likeness", {"rows": np.ones((4, 3), np.int8, order="F")}, (ValueError, BufferError)),
        ("likeness", {"scales": np.ones(3, np.float32)}, ValueError),
        ("likeness", {"found": np.empty(5, np.float32)}, ValueError),
        ("likeness", {"found": locked(np.empty(4, np.float32))}, (ValueError, BufferError)),
        ("likeness", {"found": np.empty(8, np.float32)[::2]}, (ValueError, BufferError)),
        ("likeness", TOO_WIDE, ValueError),
        ("fine_likeness", {"query": np.ones(4, np.float32)}, ValueError),
        ("fine_likeness", {"rows": np.ones((3, 3), np.int8)}, ValueError),
        ("fine_likeness", {"finer": np.ones((3, 3), np.int8)}, ValueError),
        ("fine_likeness", {"finer": np.ones((4, 3), np.int8, order="F")}, (ValueError, BufferError)),
        ("fine_likeness", {"scales": np.ones(3, np.float32)}, ValueError),
        ("fine_likeness", {"found": np.empty(4, np.float32)}, ValueError),
        ("fine_likeness", TOO_WIDE | {"finer": TOO_WIDE["rows"], "found": np.empty(0)}, ValueError),
        ("total", {"roughly": np.ones(4)}, ValueError),
        ("total", {"dense": np.ones(4, np.float32)}, ValueError),
        ("total", {"counted": np.ones(5, np.bool_)}, ValueError),
        ("total", {"rest": np.ones(3)}, ValueError),
        ("total", {"sums": locked(np.empty(4))}, (ValueError, BufferError)),
        ("total", {"usual": (0.1,)}, IndexError),
        ("total", {"usual": ("a", "b")}, TypeError),
        ("total", {"words_weight": None}, TypeError),
        ("best", {"matching": np.ones(3, np.bool_)}, ValueError),
        ("best", {"bonus": np.ones(3)}, ValueError),
        ("best", {"kinds": np.full(4, 6, np.uint8)}, ValueError),
        ("best", {"importance": np.full(4, 6, np.uint8)}, ValueError),
        ("best", {"ids": np.array([b"a", b"b", b"c"], "S37")}, ValueError),
        ("best", {"fresh_at": np.zeros(4, np.int32)}, ValueError),
        ("best", {"columns": (np.zeros(4, np.uint8),)}, IndexError),
        ("best", {"weights": (RATES, IMPORTANCE, 0.25)}, IndexError),
        ("best", {"floor": "low"}, TypeError),
        ("best", {"known_at": 2**80}, OverflowError),
        ("best", {"limit": -1}, ValueError),
        ("best", {"limit": "two"}, TypeError),
        # What is wrong first is told, and nothing else is asked after it.
        ("best", {"most": "high", "known_at": AskedTooLate()}, TypeError),
        ("best", {"known_at": 2**80, "now": AskedTooLate()}, OverflowError),
        ("best", {"now": 2**80, "limit": AskedTooLate()}, OverflowError),
        ("total", {"usual": ("a", AskedTooLate())}, TypeError),
        ("hold", {"runs": None}, (TypeError, SystemError)),
        ("hold", {"runs": ((),)}, ValueError),
        ("hold", {"own": np.array([0], np.uint32)}, ValueError),
        ("hold", {"worth": np.ones(128)}, ValueError),
        ("hold", {"rows": np.ones((3, 3), np.int8)}, ValueError),
        ("hold", {"rows": np.ones((4, 3), np.int8, order="F")}, (ValueError, BufferError)),
        ("hold", {"finer": np.ones((3, 3), np.int8)}, ValueError),
        ("hold", {"finer": None}, (TypeError, BufferError)),
        ("hold", {"scales": np.ones(3, np.float32)}, ValueError),
        ("hold", {"rest": np.ones(5)}, ValueError),
        ("hold", {"columns": (np.zeros(4, np.uint8),)}, IndexError),
        ("hold", {"floor": "low"}, TypeError),
        ("rank", {"held": None}, (TypeError, ValueError)),
        ("rank", {"held_places": np.array([0, 1, 4], np.uint32)}, ValueError),
        ("rank", {"held_kinds": np.full(4, 6, np.uint8)}, ValueError),
        ("rank", {"asked": (3, -5)}, OverflowError),
        ("rank", {"asked": None}, (TypeError, SystemError)),
        ("rank", {"vector": np.ones(4, np.float32)}, ValueError),
        ("rank", {"vector": np.ones(6, np.float32)[::2]}, (ValueError, BufferError)),
        ("rank", {"roughly": np.ones(3, np.float32)}, ValueError),
        ("rank", {"among": np.ones(3, np.bool_)}, ValueError),
        ("rank", {"atoms": "four"}, TypeError),
        ("rank", {"counted": np.ones(5, np.bool_)}, ValueError),
        ("rank", {"usual": (0.1,)}, IndexError),
        ("rank", {"rest": np.ones(3)}, ValueError),
        ("rank", {"matching": np.ones(3, np.bool_)}, ValueError),
        ("rank", {"matching": None}, TypeError),
        ("rank", {"bonus": np.ones(3)}, ValueError),
        ("rank", {"known_at": 2**80}, OverflowError),
        ("rank", {"limit": -1}, ValueError),
        ("rank", {"scale": None}, (TypeError, SystemError)),
        ("rank", {"scale": (4.2, 10.0)}, IndexError),
        ("rank", {"scale": (4.2, None, 0.7)}, TypeError),
        ("rank", {"scale": ("high", AskedTooLate(), AskedTooLate())}, TypeError),
        ("window_scores", {"places": np.array([0, 1, 4], np.uint32)}, ValueError),
        ("window_scores", {"places": np.array([0, 1, 2**32 - 1], np.uint32)}, ValueError),
        ("window_scores", {"places": np.array([0, 1], np.uint32)}, ValueError),
        ("window_scores", {"codes": np.array([1], np.uint8)}, ValueError),
        ("window_scores", {"starts": np.array([0, 1, 9], np.uint32)}, ValueError),
        ("window_scores", {"starts": np.array([2, 1, 3], np.uint32)}, ValueError),
        ("window_scores", {"own": "words"}, TypeError),
        ("window_scores", {"asked": (3, -5)}, OverflowError),
        ("window_scores", {"asked": None}, (TypeError, SystemError)),
        ("window_scores", {"runs": None}, (TypeError, SystemError)),
        ("window_scores", {"runs": ((),)}, ValueError),
        ("window_scores", {"amounts": np.ones(128)}, ValueError),
        ("window_scores", {"amounts": np.ones(256, np.float32)}, ValueError),
        ("window_scores", {"previous": np.full(3, -1, np.int32)}, ValueError),
        ("window_scores", {"next": np.full(4, -1)}, ValueError),
        ("window_scores", {"next": np.full(8, -1, np.int32)[::2]}, (ValueError, BufferError)),
        ("window_scores", {"need": np.ones(4)}, ValueError),
        ("window_scores", {"need": np.ones(3, np.float32)}, ValueError),
        ("window_scores", {"saturation": "half"}, TypeError),
        ("window_scores", {"weights": (0.5,)}, IndexError),
        ("window_scores", {"weights": ("half", AskedTooLate())}, TypeError),
        ("window_scores", {"among": np.ones(3, np.bool_)}, ValueError),
        ("window_scores", {"atoms": "four"}, TypeError),
        ("window_scores", {"scores": locked(np.zeros(4))}, (ValueError, BufferError)),
        ("window_scores", {"scores": np.zeros(8)[::2]}, (ValueError, BufferError)),
    ],
)
def test_what_would_lead_them_astray_is_refused(
    function: str, changed: dict[str, Any], error: type[Exception] | tuple[type[Exception], ...]
) -> None:
    with pytest.raises(error):
        getattr(compiled(), function)(*ARGUMENTS[function](**changed))


def arrays_in(given: Any) -> list[NDArray[Any]]:
    if isinstance(given, tuple):
        return [array for each in given for array in arrays_in(each)]
    return [given] if isinstance(given, np.ndarray) else []


@compiled_only
@pytest.mark.parametrize("function", ARGUMENTS)
def test_they_let_go_of_what_they_were_given(function: str) -> None:
    right = ARGUMENTS[function]()
    # The last thing that is looked at is wrong: an array of another size, a limit or weights that there cannot be.
    wrong = (*right[:-1], {"best": -1, "rank": (4.2,), "hold": (RATES,)}.get(function, np.zeros(3)))
    arrays = arrays_in(right)
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(100):
        getattr(compiled(), function)(*right)
        with pytest.raises((ValueError, IndexError)):
            getattr(compiled(), function)(*wrong)
    assert [sys.getrefcount(array) for array in arrays] == before


@compiled_only
def test_what_is_held_stays_until_it_is_let_go_of() -> None:
    given_to_it = hold_arguments()
    arrays = arrays_in(given_to_it)
    before = [sys.getrefcount(array) for array in arrays]
    held = compiled().hold(*given_to_it)
    found = compiled().rank(held, *rank_arguments()[1:])
    assert all(sys.getrefcount(array) > count for array, count in zip(arrays, before, strict=True))
    del given_to_it, arrays
    gc.collect()
    assert compiled().rank(held, *rank_arguments()[1:]) == found


@compiled_only
@pytest.mark.parametrize("function", ARGUMENTS)
def test_too_few_and_too_many_arguments_are_refused(function: str) -> None:
    right = ARGUMENTS[function]()
    for wrong in (right[:-1], (*right, None), ()):
        with pytest.raises(TypeError, match="arguments were given"):
            getattr(compiled(), function)(*wrong)


def test_they_are_compiled_where_there_is_a_compiler() -> None:
    sys.path.insert(0, str(Path(__file__).parents[2]))
    try:
        from hatch_build import SOURCE, compile_command
    finally:
        sys.path.pop(0)
    command = compile_command(SOURCE, Path("anywhere.so"))
    if command is None or shutil.which(command[0]) is None:
        pytest.skip("there is no compiler here")
    assert kernel.compiled is not None, "install the package again: without .venv/.stamp-project ./dev does"


WITHOUT_THEM = """
import sys
sys.modules["longmind.recall.kernels.inner_loops"] = None  # as if it had never been compiled
import longmind
from longmind.recall import kernels as kernel
with longmind.open("sqlite:///:memory:", embedder=None) as engine:
    memory = engine.context(tenant_id="acme", app_id="support", user_id="ada").memory
    space = memory.create_memory_space()
    for text in ("Ada lives in Graz.", "Ada likes tea."):
        memory.add_atom(space.id, {"text": text, "category": {"name": "home", "kind": "FACT"}})
    print(kernel.compiled, [hit.atom.text for hit in memory.recall_by_topic(space.id, "tea").hits])
"""


@pytest.mark.patient
def test_recall_works_where_nothing_was_compiled() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_THEM], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("None ['Ada likes tea.']\n", "")


@compiled_only
def test_what_was_compiled_from_another_version_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from longmind.recall.kernels import inner_loops

    monkeypatch.setattr(inner_loops, "VERSION", kernel.COMPILED_VERSION + 1)
    assert kernel._import_compiled() is None


def test_a_damaged_index_ends_in_an_error_and_in_nothing_else(database_url: str) -> None:
    with longmind.open(database_url, embedder=None) as engine:
        context = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        space = context.memory.create_memory_space()
        context.memory.add_atom(space.id, {"text": "Ada likes tea.", "category": {"name": "home", "kind": "FACT"}})
        for _ in range(3):
            assert context.memory.recall_by_topic(space.id, "tea").hits
        with engine._parts.retriever.space(context.scope, space.id) as index:
            [(_, _, places, _, _)] = index._postings.arrays()
        places[:] = 1_000_000
        for _ in range(2):
            with pytest.raises(longmind.StoreError, match="damaged"):
                context.memory.recall_by_topic(space.id, "tea")
        places[:] = 0
        assert context.memory.recall_by_topic(space.id, "tea").hits
