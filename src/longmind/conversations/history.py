"""From the rows of a conversation to the messages that a model goes on with.

Rows come as they were stored: with several answers to one turn, with calls of tools that a crash left without a result,
with rows that no model may see, cut off where somebody stopped reading. What a model is given is always whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from longmind.models.content import Block, ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from longmind.models.message import Message
from longmind.providers.language_model import ModelMessage

NO_RESULT = "There is no result of this call: it was interrupted, and may or may not have been carried out."
FIRST_WORD = "The assistant spoke first."

_TurnRows = list[Message]
_Role = Literal["user", "assistant", "tool"]
# No run of spaces is read twice, however long it is.
_OWN_TAG = re.compile(r"<(?=\s*+(?:/\s*+)?system[\s_-]?reminder)", re.IGNORECASE)


def build_model_messages(rows: Iterable[Message], tail_limit: int | None = None) -> list[ModelMessage]:
    """The messages for a model, of the last turns that have at most so many rows.

    Give hidden rows too: they are left out here, but tell where a turn begins. Each call of a tool is followed by its
    result, and by a note where there is none; a result without its call is left out.
    """
    return to_model_messages([row for turn in select_last_turns(group_turns(rows), tail_limit) for row in turn])


def to_model_messages(rows: Sequence[Message]) -> list[ModelMessage]:
    """The messages of rows that a model may see, turn by turn: the user speaks first, and then the sides in turn."""
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
    """The rows that a model may see, by turn, oldest first: of each only the newest answer.

    An answer that was retried stands behind other turns in the conversation, and belongs to its own. A turn whose
    beginning is not among the rows was cut in half, and is left out.
    """
    turns: dict[str, _TurnRows] = {}
    for row in sorted(rows, key=lambda row: row.sequence):
        turns.setdefault(row.turn_id, []).append(row)
    seen = (_keep_visible(turn) for turn in turns.values() if turn[0].role == "user" or turn[0].sequence == 1)
    return [turn for turn in seen if turn]


def select_last_turns(turns: Sequence[_TurnRows], limit: int | None) -> list[_TurnRows]:
    """The newest turns that together have at most so many rows; if not even the last one has, what is left of it."""
    if limit is None:
        return list(turns)
    kept: list[_TurnRows] = []
    for turn in reversed(turns):
        if len(turn) > limit:
            # A turn with many calls of tools may be longer than all that is asked for: a model that saw nothing of it
            # would not know what it has just said.
            kept += [] if kept else _shorten(turn, limit)
            break
        limit -= len(turn)
        kept.append(turn)
    return kept[::-1]


def _shorten(turn: _TurnRows, limit: int) -> list[_TurnRows]:
    """The question of a turn and the end of its answer, from a row of the assistant on; nothing if there is none."""
    question = turn[:1] if turn[0].role == "user" else []
    end = turn[len(turn) - max(limit - len(question), 0) :]
    while end and end[0].role != "assistant":
        end = end[1:]
    return [[*question, *end]] if end else []


def read_history(asked: Message, read: Callable[[int | None], list[Message]], tail_limit: int) -> list[Message]:
    """What a user's message is answered from: the last turns before it, itself, and what the application added.

    `read` gives the rows before a sequence number, hidden ones too, a page at a time; None is the end.
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
    visible = [row for row in turn if _is_visible(row)]
    newest = max((row.attempt for row in visible if row.role == "assistant"), default=1)
    return [row for row in visible if row.role in ("user", "system") or row.attempt >= newest]


def _is_visible(row: Message) -> bool:
    return row.visibility != "hidden"


def _iterate_blocks(rows: Sequence[Message]) -> Iterator[tuple[_Role, list[Block]]]:
    """What each row says, the results of an assistant's calls right behind it."""
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
                    # A model can be led to repeat what it was told to.
                    spoken.append(_escape_tags(block))
            yield "assistant", spoken
            yield "tool", answers
        elif row.role == "system":
            yield "user", [_make_reminder(row.text)] if row.text.strip() else []
            yield "user", [block for block in row.content if isinstance(block, ImageBlock)]
        else:
            yield "user", [_escape_tags(block) for block in row.content if _has_content(block)]


def _match_results(rows: Sequence[Message]) -> dict[tuple[int, int], ToolResultBlock]:
    """The result of each call, by the row and the place of the call.

    Ids need not be unique: a vendor may count its calls anew in each answer. So a result belongs to the last call of
    its id, and in an answer that uses an id twice, the first result to the first call.
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
    """An id that no other call of the prompt has: some vendors refuse two calls with the same one."""
    times = names[id] = names.get(id, 0) + 1
    if times == 1:
        return id
    return _make_unique(f"{id}_{times}", names)


def _has_content(block: Block) -> bool:
    # A blank text is refused by some vendors.
    return isinstance(block, ImageBlock) or (isinstance(block, TextBlock) and bool(block.text.strip()))


def _escape_tags(block: Block) -> Block:
    return (
        block.model_copy(update={"text": escape_reminder_tags(block.text)}) if isinstance(block, TextBlock) else block
    )


def escape_reminder_tags(text: str) -> str:
    # Nobody but the application speaks between these tags, however hard they try.
    return _OWN_TAG.sub("&lt;", text)


def _make_reminder(text: str) -> TextBlock:
    return TextBlock(text=f"<system_reminder>{text}</system_reminder>")
