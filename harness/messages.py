"""A reader of whole conversations, for tests."""

from __future__ import annotations

import longmind
from longmind.conversations.service import Conversations

_PAGE = 5_000


def all_messages(chat: Conversations, conversation_id: str) -> list[longmind.Message]:
    """Return the whole conversation, oldest first."""
    pages = [chat.get_raw_turns(conversation_id, limit=_PAGE)]
    while pages[-1]:
        pages.append(chat.get_raw_turns(conversation_id, limit=_PAGE, before=pages[-1][0].sequence))
    return [message for page in reversed(pages) for message in page]
