"""Conversations: what was said, verbatim, in order, for good."""

from longmind.conversations.service import Conversations

__all__ = ["Conversations"]
