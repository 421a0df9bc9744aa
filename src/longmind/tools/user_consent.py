"""Consent of the user: an agent may replace or remove an entry that came from the user only if the user agrees.

Without a way to ask, the answer is no. The question is asked outside of any transaction, and outside of the time limit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from longmind.errors import ToolError

Confirm = Callable[[str], bool]
"""Asks the user a question and returns the answer; raises TimeoutError when nobody answers."""
CONSENT_STAGE = 4
"""The stage of a call at which consent is checked."""

_log = logging.getLogger("longmind.tools")


class NeedsConfirmation(Exception):
    """The entry came from the user, or from the app for the user: an agent may not change it without consent."""

    def __init__(self, question: str) -> None:
        super().__init__(question)
        self.question = question


def ask_user(confirm: Confirm | None, question: str) -> ToolError | None:
    """Ask the user; return None if the user agrees, and else the error to answer with."""
    try:
        if confirm is not None and confirm(question) is True:
            return None
    except TimeoutError:
        return ToolError(
            "CONFIRMATION_TIMEOUT", "The user did not answer in time.", retriable=True, stage=CONSENT_STAGE
        )
    except Exception as error:
        _log.error("the question to the user failed", exc_info=error)
    return ToolError(
        "CONFIRMATION_DENIED",
        "This entry came from the user, who has not agreed to its replacement or removal.",
        stage=CONSENT_STAGE,
        hint="Ask the user, and have the app change it with memory.supersede_atom or memory.delete_atom.",
    )
