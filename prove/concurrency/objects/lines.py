"""Lines that models add to a block with their tool: what is read shows in which order, so nothing can be hidden."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import longmind
from longmind.clock import to_micros
from prove.concurrency.history import Operation
from prove.concurrency.linearizable import IMPOSSIBLE, Impossible
from prove.concurrency.objects.player import Player

_DONE = re.compile(r"Done\. .* has (\d+) lines, .* updated_at (\S+)\.$")


class Lines(NamedTuple):
    lines: tuple[str, ...] = ()
    instant: int = 0
    """The instant of the last write, as far as it is known."""


class LinesModel:
    """The lines of a block; each edit returns their number and its instant, which is later than the one before."""

    initial = Lines()
    reads = frozenset({"read"})

    def step(self, state: Lines, operation: Operation) -> Lines | Impossible:
        if operation.name == "read":
            return state if state.lines == operation.answer else IMPOSSIBLE
        if operation.name == "add":
            lines = (*state.lines, operation.given)
        elif operation.given in state.lines:
            lines = tuple(line for line in state.lines if line != operation.given)
        else:
            return IMPOSSIBLE
        if not operation.known:
            return Lines(lines, state.instant)
        outcome, count, instant = operation.answer
        fits = outcome == "done" and count == len(lines) and instant > state.instant
        return Lines(lines, instant) if fits else IMPOSSIBLE


class BlockLines:
    claim = "edits of a block's lines by the tool of a model are linearizable"
    model = LinesModel()

    def prepare(self, ctx: longmind.Context) -> list[str]:
        return ["lines"]

    def move(self, player: Player, name: str) -> None:
        mine = player.known.setdefault(f"{name} mine", [])
        chance = player.dice.random()
        if chance < 0.3:
            self.look(player, name)
        elif chance < 0.85 or not mine:
            line = player.client.fresh()
            if self._edit(player, name, "add", line):
                mine.append(line)
        else:
            # Only its own and only once, so that it is there.
            self._edit(player, name, "remove", mine.pop(0))

    def look(self, player: Player, name: str) -> None:
        blocks = player.context().blocks

        def read() -> list[str]:
            block = blocks.get("archival", agent_id=name)
            return block.content.splitlines() if block else []

        player.client.do(f"lines {name}", "read", None, read)

    def _edit(self, player: Player, name: str, edit: str, line: str) -> Any:
        update = player.context().blocks.tools(name)[0]
        field = "content" if edit == "add" else "line"
        wanted = {"block_type": "archival", "scope": "agent", "edit": f"{edit}_line", field: line}

        def act() -> list[Any]:
            reply = update.run(wanted)
            done = _DONE.match(reply)
            return ["done", int(done[1]), to_micros(done[2])] if done else [reply, 0, 0]

        return player.client.do(f"lines {name}", edit, line, act)
