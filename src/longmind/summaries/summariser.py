"""The contract of a summariser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from longmind.extraction.candidate import SourceMessage


class Summariser(Protocol):
    """Makes a few sentences of many messages. It writes nothing. Threads may share it."""

    @property
    def name(self) -> str:
        """What it is kept under with each summary it has made: its kind, and which version of it."""

    def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
        """What an earlier summary and the messages after it tell, in at most so many characters.

        Each message has its role and its time; where people talk to each other, the speaker's name stands before the
        text, as in "Ada: I moved". An empty text says that there is nothing to tell. What goes wrong is raised.
        """
