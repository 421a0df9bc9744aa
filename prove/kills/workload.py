"""The work of the attack's clients: operations of all kinds in a random order, each noted before and after.

Every operation leaves its token in what it writes. A client that finds the last operation of its user without an
answer acts like a real one: it repeats what a key or the nature of the operation makes safe to repeat, and leaves
everything else.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from prove.kills import journal
from prove.kills.journal import Entry, History, Journal
from prove.kills.steps import STEPS, Known, NothingToDo, Step, StepContext

SESSION = 40
"""Operations in one session of a user; quotas count by session."""

Ask = Callable[..., Any]
"""Carries out the operation with a path: `ask("blocks.get", block_type="core")`."""
AskIn = Callable[[str], Ask]
"""Returns an `Ask` for a session."""


class Lost(Exception):
    """No answer came, so the outcome is unknown."""


class Refused(Exception):
    """The operation was refused, for the reason in the message."""


def session_of(number: int) -> str:
    return f"s{number // SESSION}"


def _keys_of(history: History) -> list[str]:
    """Return the keys that a user is known to have."""
    keys: list[str] = []
    for entry in history.entries:
        match entry.operation:
            case "key" if entry.answer is not None:
                keys.append(entry.answer["id"])
            case "key_revoke":
                keys = [each for each in keys if each != entry.given["ends"]]
            case "erase":
                keys = []
    return keys


class UserClient:
    """A client that acts for one user and continues where the last one was stopped."""

    def __init__(self, ask_in: AskIn, folder: Path, user: str, dice: random.Random, *, remote: bool = False) -> None:
        self._ask_in = ask_in
        self._dice = dice
        self._folder = folder
        here = "server" if remote else "process"
        self._steps = [step for step in STEPS.values() if step.only in (None, here)]
        self.history = journal.read(folder, user)
        self._journal = Journal(folder, user)
        self._number = self.history.next_number
        self.known = Known(folder, keys=_keys_of(self.history))

    def act(self) -> Iterator[Step]:
        """Carry out operations endlessly and yield each when it was answered."""
        unanswered = self.history.unanswered
        if unanswered is not None and self._is_repeated(unanswered):
            yield self._do(STEPS[unanswered.operation], unanswered.number, unanswered.given)
        weights = [step.weight for step in self._steps]
        while True:
            step = self._dice.choices(self._steps, weights)[0]
            with suppress(NothingToDo):
                yield self.take(step)

    def take(self, step: Step) -> Step:
        """Carry out one operation; raise `NothingToDo` if it has nothing to act on."""
        number = self._number
        given = step.plan(self._make_ask(number), self.known, self._make_context(number))
        self._number += 1
        return self._do(step, number, given)

    def _is_repeated(self, entry: Entry) -> bool:
        step = STEPS[entry.operation]
        # Half an erasure would be worst for its user, so it is always repeated.
        willing = step.name == "erase" or self._dice.random() < 0.8
        return willing and step in self._steps and step.again(entry.given)

    def _do(self, step: Step, number: int, given: dict[str, Any]) -> Step:
        self._journal.intend(number, step.name, given)
        try:
            answer = step.do(self._make_ask(number), given, journal.token_of(self._journal.user, number))
        except Refused as refusal:
            self._journal.note_refusal(number, str(refusal))
            self.known.forget(given)
        except Lost:
            self.known.forget(given)
            raise
        else:
            self._journal.note_answer(number, answer)
            self.known.learn(step.name, number, given, answer)
        return step

    def _make_ask(self, number: int) -> Ask:
        return self._ask_in(session_of(number))

    def _make_context(self, number: int) -> StepContext:
        user = self._journal.user
        return StepContext(self._dice, journal.token_of(user, number), user, session_of(number))

    def close(self) -> None:
        self._journal.close()
