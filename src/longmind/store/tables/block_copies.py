"""Lines of memory blocks that are copies of facts, and follow them when they are replaced, archived or deleted.

Sleep-time memory copies facts into blocks by itself, so a fact that is deleted would otherwise stay in every prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from longmind.clock import Micros
from longmind.models.block import ARCHIVAL_LIMIT, CORE_LIMIT, Block, split_lines
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import blocks
from longmind.store.tables.blocks import BlockPlace

_BULLET = re.compile(r"\s*(?:[-*+\u2022\u2013]|\d{1,2}[.)])\s+")


def replace_copies(run: Transaction, scope: Scope, old: str, new: str, now: Micros) -> None:
    """Let the lines that say a fact in its own words say its newer version; without room for that they are removed."""
    for owner_run in _bind_owners(run, scope):
        for block in _list_with(owner_run, old):
            longest = CORE_LIMIT if block.block_type == "core" else ARCHIVAL_LIMIT
            content = _replace(block.content, old, " ".join(new.split()))
            _write(owner_run, scope, block, content if len(content) <= longest else _remove(block.content, old), now)


def remove_copies(run: Transaction, scope: Scope, text: str, now: Micros, *, for_good: bool) -> None:
    """Remove the lines that say a fact in its own words; for good means from revisions as well."""
    for owner_run in _bind_owners(run, scope):
        for block in _list_with(owner_run, text):
            _write(owner_run, scope, block, _remove(block.content, text), now)
        if for_good:
            _remove_from_revisions(owner_run, text)


def _bind_owners(run: Transaction, scope: Scope) -> Iterator[Transaction]:
    """Yield the transaction for the user's blocks in this app, and then for those that the app shares with others."""
    yield run
    if scope.block_owner is not scope:
        with run.bind_scope(scope.block_owner) as owner_run:
            yield owner_run


def _remove_from_revisions(run: Transaction, text: str) -> None:
    for place, revision in blocks.list_every_revision(run):
        content = _remove(revision.content, text)
        if content != revision.content:
            blocks.rewrite_revision(run, place, revision.revision, content)


def _list_with(run: Transaction, text: str) -> list[Block]:
    """Return the blocks with a line that says a text, held so that nobody else writes them in between."""
    places = [BlockPlace(each.block_type, each.agent_id) for each in blocks.list_all(run, users=True, agents=True)]
    for place in places:
        blocks.hold(run, place)
    held = [block for block in map(partial(blocks.get, run), places) if block is not None]
    return [block for block in held if any(_says(line, text) for line in split_lines(block.content))]


def _says(line: str, text: str) -> bool:
    return _fold(_BULLET.sub("", line, count=1)) == _fold(text)


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def _remove(content: str, text: str) -> str:
    return "\n".join(line for line in split_lines(content) if not _says(line, text))


def _replace(content: str, old: str, new: str) -> str:
    lines = split_lines(content)
    for place, line in enumerate(lines):
        if _says(line, old):
            bullet = _BULLET.match(line)
            lines[place] = (bullet[0] if bullet else "") + new
    return "\n".join(lines)


def _write(run: Transaction, scope: Scope, block: Block, content: str, now: Micros) -> None:
    place = BlockPlace(block.block_type, block.agent_id)
    blocks.write(run, scope, place, content, blocks.find(run, place), "app", now)
