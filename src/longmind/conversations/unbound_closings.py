"""Conversations that were closed although no binding covers them, so that nothing is learned from them.

The most common mistake of a new app, and one without an error: so it is logged once, and counted for `engine.work()`.
"""

from __future__ import annotations

import logging
from collections import deque

_log = logging.getLogger("longmind.conversations")


class UnboundClosings:
    """The closings of one engine since its last report. Threads may share it; a fork starts with what was counted."""

    def __init__(self) -> None:
        # Appending to and taking from a deque needs no lock, which a fork would have to renew.
        self._closed: deque[str] = deque()
        self._logged = False

    def note(self, conversation_id: str) -> None:
        """Count a closing, and log the first one."""
        self._closed.append(conversation_id)
        if not self._logged:
            self._logged = True
            _log.warning(
                "conversation %s was closed, and no binding covers its namespace and user, so nothing is learned from "
                "it; call memory.create_binding once, or use memory.open_default_space. This is logged once.",
                conversation_id,
            )

    def take(self) -> int:
        """Return the number of closings since the last call."""
        count = 0
        while self._closed:
            self._closed.popleft()
            count += 1
        return count
