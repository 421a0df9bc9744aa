"""The last turns of a conversation as a model may see them: whole, each with only its newest answer."""

from __future__ import annotations

from collections.abc import Iterable

from longmind.clock import Micros
from longmind.conversations.history import group_turns
from longmind.models.content import ToolResultBlock, ToolUseBlock
from longmind.models.message import Message
from longmind.store.database import Transaction
from longmind.store.tables import messages

_ROWS_FOR_A_TURN = 3
"""Rows read at first for each turn: a question, an answer, and some to spare. Longer turns need another read."""

Turn = list[Message]


def read_last_turns(run: Transaction, conversation_id: str, wanted: int, known_at: Micros | None) -> list[Turn]:
    """Read the newest turns, oldest first. Only the end of the conversation is read, however long it is."""
    rows: list[Message] = []
    page = wanted * _ROWS_FOR_A_TURN + 2
    while True:
        before = rows[0].sequence if rows else messages.BEYOND_ALL_SEQUENCES
        read = messages.read_before(run, conversation_id, before, page, known_at)
        rows = [*read, *rows]
        whole = group_turns(rows)
        # A page that is not full reached the beginning of the conversation.
        if len(read) < page or len(whole) >= wanted:
            return whole[-wanted:]
        # Twice as many each time, since all rows are grouped again; a very long turn must not cost many reads.
        page *= 2


def join_inseparable_turns(turns: Iterable[Turn]) -> list[Turn]:
    """Join turns of which one holds a tool call and another its result, so that a budget drops both or neither.

    A result whose call is missing is left out: the call stands in an earlier turn, or is hidden.
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
    """Return the row without results of missing calls, and the numbers of the turns that hold the others."""
    ids = [block.tool_use_id for block in row.content if isinstance(block, ToolResultBlock)]
    answered = [called_in[id] for id in ids if id in called_in]
    if len(answered) == len(ids):
        return row, answered
    left = [block for block in row.content if not isinstance(block, ToolResultBlock) or block.tool_use_id in called_in]
    return (row.model_copy(update={"content": left}) if left else None), answered
