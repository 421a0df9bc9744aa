"""What the user has told is the user's: an agent that wants to change it has to have the user's consent."""

from __future__ import annotations

import logging
from collections.abc import Callable

from longmind.errors import ToolError

Confirm = Callable[[str], bool]
"""Asks the user a question. It may raise TimeoutError when nobody answers."""
ALLOWED_AT = 4
"""The stage of a call at which it is seen whether it may be done."""

_log = logging.getLogger("longmind.tools")


class NeedsConfirmation(Exception):
    """The entry was told by the user, or by the app for the user: an agent alone does not replace or remove it."""

    def __init__(self, question: str) -> None:
        super().__init__(question)
        self.question = question


def ask(confirm: Confirm | None, question: str) -> ToolError | None:
    """Ask the user; None when the user agrees."""
    try:
        if confirm is not None and confirm(question) is True:
            return None
    except TimeoutError:
        return ToolError("CONFIRMATION_TIMEOUT", "The user did not answer in time.", retriable=True, stage=ALLOWED_AT)
    except Exception as error:
        _log.error("the user could not be asked", exc_info=error)
    return ToolError(
        "CONFIRMATION_DENIED",
        "The user told this entry, and has not agreed to have it replaced or removed.",
        stage=ALLOWED_AT,
        hint="Ask the user, and let the app do it: memory.supersede_atom and memory.delete_atom.",
    )
