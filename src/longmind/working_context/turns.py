"""The last turns of a conversation as a model may see them: whole, and of each only the newest answer."""

from __future__ import annotations

from collections.abc import Iterable

from longmind.clock import Micros
from longmind.conversations.history import group_turns
from longmind.models.content import ToolResultBlock, ToolUseBlock
from longmind.models.message import Message
from longmind.store.database import Transaction
from longmind.store.tables import messages

_ROWS_FOR_A_TURN = 3
"""What is read at first for each turn that is wanted: two and some. Of longer turns more is read."""

Turn = list[Message]


def read_last_turns(run: Transaction, conversation_id: str, wanted: int, known_at: Micros | None) -> list[Turn]:
    """The newest turns, oldest first. Only the end of the conversation is read, however long it is."""
    rows: list[Message] = []
    page = wanted * _ROWS_FOR_A_TURN + 2
    while True:
        before = rows[0].sequence if rows else messages.BEYOND_ALL_SEQUENCES
        read = messages.read_before(run, conversation_id, before, page, known_at)
        rows = [*read, *rows]
        whole = group_turns(rows)
        if len(read) < page or len(whole) >= wanted:
            return whole[-wanted:]
        # Twice as many each time: all rows are looked at anew, and of a very long turn that must not be often.
        page *= 2


def join_inseparable_turns(turns: Iterable[Turn]) -> list[Turn]:
    """The turns, with those made one in which a tool was called and in which it answered.

    An answer whose call is not there is left out: it was made in a turn before, or nobody may see it.
    """
    groups: list[Turn] = []
    begins: list[int] = []
    called_in: dict[str, int] = {}
    for number, turn in enumerate(turns):
        groups.append([])
        begins.append(number)
        for row in turn:
            kept, answered = _find_answered_calls(row, called_in)
            while begins[-1] > min(answered, default=number):
                begins.pop()
                last = groups.pop()
                groups[-1] += last
            if kept is not None:
                groups[-1].append(kept)
            called_in |= {block.id: number for block in row.content if isinstance(block, ToolUseBlock)}
    return [group for group in groups if group]


def _find_answered_calls(row: Message, called_in: dict[str, int]) -> tuple[Message | None, list[int]]:
    """The row without answers to calls that are not there, and in which turns the others were called."""
    ids = [block.tool_use_id for block in row.content if isinstance(block, ToolResultBlock)]
    answered = [called_in[id] for id in ids if id in called_in]
    if len(answered) == len(ids):
        return row, answered
    left = [block for block in row.content if not isinstance(block, ToolResultBlock) or block.tool_use_id in called_in]
    return (row.model_copy(update={"content": left}) if left else None), answered
