"""The contract of a summariser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from longmind.extraction.candidate import SourceMessage


class Summariser(Protocol):
    """A maker of short texts from many messages. It writes nothing to the database, and threads may share it."""

    @property
    def name(self) -> str:
        """Return the kind and version of the summariser, which is stored with each of its summaries."""

    def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
        """Summarise an earlier summary and the messages after it.

        earlier: the standing summary, which the new one replaces; None if there is none yet.
        messages: in order, each with its role and time. In a talk between people the text begins with the speaker's
            name, as in "Ada: I moved".
        limit: the most characters that the summary may have. The caller rejects a longer one.

        Return an empty text when there is nothing to say. Raise any exception to report a failure: the standing
        summary then stays as it is.
        """
