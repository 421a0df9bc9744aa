"""Conversations: messages of a user, verbatim, in order, and kept for good."""

from longmind.conversations.service import Conversations

__all__ = ["Conversations"]
