"""The values that an attribute has had, as extraction has learned them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import longmind


@pytest.fixture
def engine(database_url: str) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=None) as engine:
        yield engine


@pytest.fixture
def space(ctx: longmind.Context) -> longmind.MemorySpace:
    return ctx.memory.open_default_space()


def say(engine: longmind.Engine, ctx: longmind.Context, *texts: str) -> None:
    for text in texts:
        ctx.conversations.append_messages([{"role": "user", "content": text}], namespace="chat", extract=True)
        engine.work()


def texts(ctx: longmind.Context, space: longmind.MemorySpace, attribute: str, **options: Any) -> list[str]:
    return [atom.text for atom in ctx.memory.get_history(space.id, attribute, **options)]


def test_the_values_come_oldest_first(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    say(engine, ctx, "I live in Vienna.", "I live in Graz.", "I live in Linz.")
    assert texts(ctx, space, "home") == ["User lives in Vienna.", "User lives in Graz.", "User lives in Linz."]
    assert texts(ctx, space, "home", limit=1) == ["User lives in Linz."]
    assert [atom.valid_to is None for atom in ctx.memory.get_history(space.id, "home")] == [False, False, True]
    assert texts(ctx, space, "phone number") == []


def test_words_choose_all_attributes_that_have_them(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    say(engine, ctx, "My favourite colour is blue.", "My favourite book is Dune.")
    assert len(texts(ctx, space, "favourite")) == 2
    assert texts(ctx, space, "favorite color") == texts(ctx, space, "Favourite colour")
    assert texts(ctx, space, "favourite book") == ["User's favourite book is Dune."]


def test_a_version_that_the_app_wrote_belongs_to_the_history(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    say(engine, ctx, "I live in Vienna.")
    (atom,) = ctx.memory.get_history(space.id, "home")
    for text in ("User lives in Graz.", "User lives in Linz."):
        atom = ctx.memory.supersede_atom(atom.id, {"text": text, "category": {"name": "home", "kind": "FACT"}})
    assert texts(ctx, space, "home") == ["User lives in Vienna.", "User lives in Graz.", "User lives in Linz."]
    ctx.memory.delete_atom(atom.id)
    assert texts(ctx, space, "home") == ["User lives in Vienna.", "User lives in Graz."]


def test_what_cannot_be_asked_for_is_refused(ctx: longmind.Context, space: longmind.MemorySpace) -> None:
    for attribute in ("", " ", 5, None):
        with pytest.raises(longmind.InvalidInput):
            ctx.memory.get_history(space.id, attribute)  # type: ignore[arg-type]  # as a caller may pass it
    with pytest.raises(longmind.NotFound):
        ctx.memory.get_history("ms_none", "home")
