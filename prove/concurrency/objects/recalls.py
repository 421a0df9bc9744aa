"""Recall: what was written is found by the next question of any process, and what was taken away is not."""

from __future__ import annotations

from typing import Any, NamedTuple

import longmind
from prove.concurrency.history import Operation
from prove.concurrency.linearizable import IMPOSSIBLE, Impossible
from prove.concurrency.objects.player import Player

_WORD = "lantern"
_MOST = 200


class SpaceContent(NamedTuple):
    live: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    """Superseded entries that still exist."""


class SpaceModel:
    initial = SpaceContent()
    reads = frozenset({"recall"})

    def step(self, state: SpaceContent, operation: Operation) -> SpaceContent | Impossible:
        if operation.name == "recall":
            return state if operation.answer == tuple(sorted(state.live)) else IMPOSSIBLE
        after, why_not = _apply_write(state, operation)
        if not operation.known:
            return IMPOSSIBLE if why_not else after
        return (state if why_not else after) if operation.answer == (why_not or "done") else IMPOSSIBLE


def _apply_write(state: SpaceContent, operation: Operation) -> tuple[SpaceContent, str | None]:
    """Return the content after a write, and the word of its refusal if it is refused."""
    if operation.name == "add":
        return state._replace(live=state.live | {operation.given}), None
    if operation.name == "delete":
        there = operation.given in state.live | state.hidden
        gone = {operation.given}
        return SpaceContent(state.live - gone, state.hidden - gone), None if there else "missing"
    old, new = operation.given
    after = SpaceContent(state.live - {old} | {new}, state.hidden | {old})
    return after, None if old in state.live else "conflict" if old in state.hidden else "missing"


class Recalls:
    claim = "recall in any process shows what is written, and not what was superseded or deleted"
    model = SpaceModel()

    def prepare(self, ctx: longmind.Context) -> list[str]:
        return [ctx.memory.create_memory_space(f"space {number}").id for number in range(2)]

    def move(self, player: Player, name: str) -> None:
        chance, ids = player.dice.random(), player.known.setdefault(name, {})
        if chance < 0.4 or not ids:
            self.look(player, name)
        if chance < 0.75 or not ids:
            text = player.client.fresh()
            self._write(player, name, "add", text, lambda memory: memory.add_atom(name, _atom(text)))
            return
        old, id = player.dice.choice(sorted(ids.items()))
        del ids[old]
        if chance < 0.9:
            new = player.client.fresh()
            self._write(player, name, "supersede", [old, new], lambda memory: memory.supersede_atom(id, _atom(new)))
        else:
            self._write(player, name, "delete", old, lambda memory: memory.delete_atom(id))

    def look(self, player: Player, name: str) -> None:
        memory, ids = player.context().memory, player.known.setdefault(name, {})

        def recall() -> list[str]:
            hits = memory.recall_by_topic(name, _WORD, limit=_MOST).hits
            found = {hit.atom.text.split()[-1]: hit.atom.id for hit in hits}
            ids.clear()
            ids.update(found)
            return sorted(found)

        player.client.do(name, "recall", None, recall)

    def _write(self, player: Player, name: str, what: str, given: Any, act: Any) -> None:
        memory = player.context().memory

        def write() -> str:
            try:
                act(memory)
            except longmind.Conflict:
                return "conflict"
            except longmind.NotFound:
                return "missing"
            return "done"

        player.client.do(name, what, given, write)


def _atom(text: str) -> dict[str, Any]:
    return {"text": f"{_WORD} {text}", "category": {"name": "note", "kind": "FACT"}}
