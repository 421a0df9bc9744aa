"""The history of a conversation as a model may see it.

Stored rows may hold several answers to one turn, tool calls that a crash left without a result, rows that no model
may see, and turns cut off by the limit of a read. The functions here repair all of that, so that every list of
messages keeps three invariants: the user speaks first, the sides alternate, and each tool call is followed by
exactly one result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from longmind.models.content import Block, ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from longmind.models.message import Message
from longmind.providers.language_model import ModelMessage

NO_RESULT = "This call has no result: it was interrupted and may or may not have been carried out."
FIRST_WORD = "The assistant spoke first."

_TurnRows = list[Message]
_Role = Literal["user", "assistant", "tool"]
# Possessive, so that a long run of spaces is read only once.
_OWN_TAG = re.compile(r"<(?=\s*+(?:/\s*+)?system[\s_-]?reminder)", re.IGNORECASE)


def build_model_messages(rows: Iterable[Message], tail_limit: int | None = None) -> list[ModelMessage]:
    """Return the messages of the last whole turns that have together at most `tail_limit` rows.

    Pass hidden rows too: they are left out, but mark where a turn begins. A tool call without a result gets a note in
    its place; a result without its call is left out.
    """
    return to_model_messages([row for turn in select_last_turns(group_turns(rows), tail_limit) for row in turn])


def to_model_messages(rows: Sequence[Message]) -> list[ModelMessage]:
    """Return rows as messages for a model, in alternating roles, without the rows that a model may not see."""
    messages: list[tuple[_Role, list[Block]]] = []
    for role, blocks in _iterate_blocks(rows):
        if not blocks:
            continue
        if not messages and role == "assistant":
            messages.append(("user", [_make_reminder(FIRST_WORD)]))
        if messages and messages[-1][0] == role:
            messages[-1][1].extend(blocks)
        else:
            messages.append((role, list(blocks)))
    return [ModelMessage(role, blocks) for role, blocks in messages]


def group_turns(rows: Iterable[Message]) -> list[_TurnRows]:
    """Group the rows that a model may see by turn, oldest first, with only the newest answer of each.

    A retried answer stands behind later turns in the conversation but belongs to its own. A turn whose beginning is
    missing was cut in half, and is left out.
    """
    turns: dict[str, _TurnRows] = {}
    for row in sorted(rows, key=lambda row: row.sequence):
        turns.setdefault(row.turn_id, []).append(row)
    seen = (_keep_visible(turn) for turn in turns.values() if turn[0].role == "user" or turn[0].sequence == 1)
    return [turn for turn in seen if turn]


def select_last_turns(turns: Sequence[_TurnRows], limit: int | None) -> list[_TurnRows]:
    """Return the newest turns with together at most `limit` rows, or else the end of the very last turn."""
    if limit is None:
        return list(turns)
    kept: list[_TurnRows] = []
    for turn in reversed(turns):
        if len(turn) > limit:
            # A turn with many tool calls may exceed the limit alone; a model that saw nothing of it would not know what
            # it has just said.
            kept += [] if kept else _shorten(turn, limit)
            break
        limit -= len(turn)
        kept.append(turn)
    return kept[::-1]


def _shorten(turn: _TurnRows, limit: int) -> list[_TurnRows]:
    """Return the question of a turn and the end of its answer, beginning at a row of the assistant; may be empty."""
    question = turn[:1] if turn[0].role == "user" else []
    end = turn[len(turn) - max(limit - len(question), 0) :]
    while end and end[0].role != "assistant":
        end = end[1:]
    return [[*question, *end]] if end else []


def read_history(asked: Message, read: Callable[[int | None], list[Message]], tail_limit: int) -> list[Message]:
    """Read the rows that a user's message is answered from: the last turns before it, itself, and notes of the app.

    read: returns a page of rows before a sequence number, hidden ones included; None is the end.
    """
    rows: list[Message] = []
    before: int | None = None
    while True:
        page = read(before)
        rows = [*page, *rows]
        earlier = [turn for turn in group_turns(rows) if turn[0].sequence < asked.sequence]
        enough = rows and rows[0].sequence <= asked.sequence and sum(map(len, earlier)) >= tail_limit
        if enough or not page or page[0].sequence == 1:
            break
        before = page[0].sequence
    added = [row for row in rows if row.turn_id == asked.turn_id and row.role == "system" and _is_visible(row)]
    return [*(row for turn in select_last_turns(earlier, tail_limit) for row in turn), asked, *added]


def _keep_visible(turn: _TurnRows) -> _TurnRows:
    """Return the rows of a turn that a model may see, with only its newest answer."""
    visible = [row for row in turn if _is_visible(row)]
    newest = max((row.attempt for row in visible if row.role == "assistant"), default=1)
    return [row for row in visible if row.role in ("user", "system") or row.attempt >= newest]


def _is_visible(row: Message) -> bool:
    return row.visibility != "hidden"


def _iterate_blocks(rows: Sequence[Message]) -> Iterator[tuple[_Role, list[Block]]]:
    """Yield the role and the blocks of each row; results follow the assistant's calls at once."""
    results = _match_results(rows)
    names: dict[str, int] = {}
    for number, row in enumerate(rows):
        if row.role == "assistant":
            spoken: list[Block] = []
            answers: list[Block] = []
            for place, block in enumerate(row.content):
                if isinstance(block, ToolUseBlock):
                    id = _make_unique(block.id, names)
                    spoken.append(block.model_copy(update={"id": id}))
                    answers.append(_make_result(results.get((number, place)), id))
                elif _has_content(block):
                    # A model can be led to repeat tags that somebody put into its prompt.
                    spoken.append(_escape_tags(block))
            yield "assistant", spoken
            yield "tool", answers
        elif row.role == "system":
            yield "user", [_make_reminder(row.text)] if row.text.strip() else []
            yield "user", [block for block in row.content if isinstance(block, ImageBlock)]
        else:
            yield "user", [_escape_tags(block) for block in row.content if _has_content(block)]


def _match_results(rows: Sequence[Message]) -> dict[tuple[int, int], ToolResultBlock]:
    """Map each tool call, by its row and its place in it, to its result.

    Ids need not be unique: a vendor may restart its count in each answer. So a result belongs to the last call of
    its id; in an answer that uses an id twice, the first result belongs to the first call.
    """
    found: dict[tuple[int, int], ToolResultBlock] = {}
    waiting: dict[str, list[tuple[int, int]]] = {}
    for number, row in enumerate(rows):
        for place, block in enumerate(row.content):
            if isinstance(block, ToolUseBlock) and row.role == "assistant":
                calls = waiting.setdefault(block.id, [])
                if calls and calls[0][0] != number:
                    calls.clear()
                calls.append((number, place))
            elif isinstance(block, ToolResultBlock) and row.role != "assistant" and waiting.get(block.tool_use_id):
                found[waiting[block.tool_use_id].pop(0)] = block
    return found


def _make_result(found: ToolResultBlock | None, id: str) -> ToolResultBlock:
    if found is None:
        return ToolResultBlock(tool_use_id=id, content=NO_RESULT, is_error=True)
    content = found.content
    shown = escape_reminder_tags(content) if isinstance(content, str) else [_escape_tags(block) for block in content]
    return found.model_copy(update={"tool_use_id": id, "content": shown})


def _make_unique(id: str, names: dict[str, int]) -> str:
    """Return an id that no other call of the prompt has; some vendors refuse duplicates."""
    times = names[id] = names.get(id, 0) + 1
    if times == 1:
        return id
    return _make_unique(f"{id}_{times}", names)


def _has_content(block: Block) -> bool:
    # Some vendors refuse blank texts.
    return isinstance(block, ImageBlock) or (isinstance(block, TextBlock) and bool(block.text.strip()))


def _escape_tags(block: Block) -> Block:
    return (
        block.model_copy(update={"text": escape_reminder_tags(block.text)}) if isinstance(block, TextBlock) else block
    )


def escape_reminder_tags(text: str) -> str:
    """Escape the tags of reminders, so that only the application can speak between them."""
    return _OWN_TAG.sub("&lt;", text)


def _make_reminder(text: str) -> TextBlock:
    return TextBlock(text=f"<system_reminder>{text}</system_reminder>")
