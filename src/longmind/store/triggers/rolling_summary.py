"""What sets a rolling summary off: so many turns that were finished since the last one.

The turns are counted in the row of the conversation, which every append writes anyway: counting costs no statement.
"""

from __future__ import annotations

from collections.abc import Sequence

from longmind.clock import Micros
from longmind.models.content import Block, ToolUseBlock
from longmind.models.message import Message
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import jobs
from longmind.store.tables.jobs import NewJob
from longmind.validation.text import encode_json

SUMMARISE = "conversation.summarise"
"""The kind of the jobs that refresh rolling summaries."""


def on_appended(
    run: Transaction, scope: Scope, appended: Message, begun: int, turns: int, now: Micros, attempts: int
) -> None:
    """Queue a refresh if a message completes so many turns; `begun` have begun since the last one, its own included."""
    if begun < turns or appended.role not in ("user", "assistant"):
        return
    # A user's message ends the turn before it, and an answer its own, unless it waits for a tool.
    still_open = int(appended.role == "user" or waits_for_tool(appended.content))
    if begun - still_open < turns:
        return
    payload = encode_json("payload", {"conversationId": appended.conversation_id})
    key = f"{appended.conversation_id}:{appended.sequence}"
    jobs.enqueue(run, scope, NewJob(SUMMARISE, payload, now, attempts, unique_key=key), now)
    run.send("count_turns_anew", conversation_id=appended.conversation_id, begun=still_open)


def waits_for_tool(content: Sequence[Block]) -> bool:
    return any(isinstance(block, ToolUseBlock) for block in content)
