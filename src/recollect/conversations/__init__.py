"""Conversations: what was said, verbatim, in order, for good."""

from recollect.conversations.conversations import Conversations

__all__ = ["Conversations"]
