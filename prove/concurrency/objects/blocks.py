"""Memory blocks: replaced by compare-and-set, and edited line by line by the tool of a model."""

from __future__ import annotations

from typing import Any

import longmind
from longmind.clock import to_iso, to_micros
from prove.concurrency.history import Operation
from prove.concurrency.linearizable import IMPOSSIBLE, Impossible
from prove.concurrency.objects.player import Player

Register = tuple[str | None, int | None, int]
"""The content of a block, or None without one; its instant, or None while unknown; its version."""


class RegisterModel:
    """A block that is replaced only by a caller that knows its instant. Instants grow, versions by one."""

    initial: Register = (None, None, 0)
    reads = frozenset({"get"})

    def step(self, state: Register, operation: Operation) -> Register | Impossible:
        match operation.name:
            case "get":
                return _observe(state, operation.answer)
            case "update":
                return _apply_update(state, operation)
            case "delete":
                return _apply_delete(state, operation)
        raise ValueError(operation.name)


def _observe(state: Register, shown: Any) -> Register | Impossible:
    """Return the state after a reading, which may reveal an instant that was unknown until then."""
    content, instant, version = state
    if shown is None:
        return state if content is None else IMPOSSIBLE
    if (content, version) != (shown[0], shown[2]) or instant not in (None, shown[1]):
        return IMPOSSIBLE
    return (content, shown[1], version)


def _apply_update(state: Register, operation: Operation) -> Register | Impossible:
    content, instant, version = state
    expected, new = operation.given
    # A caller can only expect an instant that it has read, so an unknown instant is never the expected one.
    fits = content is None if expected is None else content is not None and instant == expected
    if not operation.known:
        return (new, None, version + 1) if fits else IMPOSSIBLE
    outcome, reading = operation.answer
    if outcome == "conflict":
        return IMPOSSIBLE if fits else _observe(state, reading)
    written, number = reading
    if not fits or number != version + 1 or (instant is not None and written <= instant):
        return IMPOSSIBLE
    return (new, written, number)


def _apply_delete(state: Register, operation: Operation) -> Register | Impossible:
    content, instant, version = state
    expected = operation.given
    fits = content is not None and (expected is None or instant == expected)
    if not operation.known or operation.answer == ("ok", None):
        return (None, instant, version + 1) if fits else IMPOSSIBLE
    outcome, reading = operation.answer
    if outcome == "missing":
        return state if content is None else IMPOSSIBLE
    return _observe(state, reading) if content is not None and not fits else IMPOSSIBLE


class Blocks:
    claim = "compare-and-set on memory blocks is linearizable"
    model = RegisterModel()

    def prepare(self, ctx: longmind.Context) -> list[str]:
        return ["first", "second"]

    def move(self, player: Player, name: str) -> None:
        chance = player.dice.random()
        if chance < 0.25 or name not in player.known:
            self.look(player, name)
        elif chance < 0.9:
            self._replace(player, name)
        else:
            self._delete(player, name)

    def look(self, player: Player, name: str) -> None:
        blocks = player.context().blocks

        def get() -> Any:
            player.known[name] = _to_reading(blocks.get("archival", agent_id=name))
            return player.known[name]

        player.client.do(f"block {name}", "get", None, get)

    def _replace(self, player: Player, name: str) -> None:
        """Replace the content that was read last, which may be long ago."""
        read, content = player.known[name], player.client.fresh()
        blocks = player.context().blocks

        def update() -> Any:
            try:
                written = blocks.update("archival", content, read and _instant(read), agent_id=name)
            except longmind.BlockConflict as conflict:
                player.known[name] = _to_reading(conflict.current)
                return ["conflict", player.known[name]]
            player.known[name] = _to_reading(written)
            return ["ok", player.known[name][1:]]

        player.client.do(f"block {name}", "update", [read and read[1], content], update)

    def _delete(self, player: Player, name: str) -> None:
        read = player.known[name] if player.dice.random() < 0.5 else None
        blocks = player.context().blocks

        def delete() -> Any:
            try:
                blocks.delete("archival", agent_id=name, expected_updated_at=read and _instant(read))
            except longmind.NotFound:
                return ["missing", None]
            except longmind.BlockConflict as conflict:
                return ["conflict", _to_reading(conflict.current)]
            return ["ok", None]

        player.client.do(f"block {name}", "delete", read and read[1], delete)


def _to_reading(block: longmind.Block | None) -> Any:
    return None if block is None else [block.content, to_micros(block.updated_at), block.version]


def _instant(read: Any) -> str:
    return to_iso(read[1])
