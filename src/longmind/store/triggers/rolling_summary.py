"""Refreshes of rolling summaries, queued once a number of turns was finished since the last one.

The turns are counted in the row of the conversation, which every append writes anyway: counting costs no statement.
"""

from __future__ import annotations

from longmind.clock import Micros
from longmind.models.content import waits_for_tool
from longmind.models.message import Message
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import conversations, jobs
from longmind.store.tables.jobs import NewJob
from longmind.validation.text import encode_json

SUMMARISE = "conversation.summarise"
"""The kind of the jobs that refresh rolling summaries."""


def on_appended(
    run: Transaction, scope: Scope, appended: Message, turns_begun: int, turns: int, now: Micros, attempts: int
) -> None:
    """Queue a refresh if a message completes the turns that one is due after.

    turns_begun: turns that have begun since the last refresh, the message's own included.
    turns: finished turns after which a refresh is due.
    """
    if turns_begun < turns or appended.role not in ("user", "assistant"):
        return
    # A user's message ends the turn before it, and an answer its own, unless it waits for a tool.
    still_open = int(appended.role == "user" or waits_for_tool(appended.content))
    if turns_begun - still_open < turns:
        return
    payload = encode_json("payload", {"conversationId": appended.conversation_id})
    key = f"{appended.conversation_id}:{appended.sequence}"
    jobs.enqueue(run, scope, NewJob(SUMMARISE, payload, now, attempts, unique_key=key), now)
    conversations.restart_turn_count(run, appended.conversation_id, still_open)
