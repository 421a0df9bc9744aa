"""What a kind of job is: a function that is given one job and says what came of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from longmind.errors import InvalidInput
from longmind.models.job import Job
from longmind.scope import Scope

if TYPE_CHECKING:
    from longmind.context import Context

_KIND = re.compile(r"[a-z][a-z0-9_.\-]{0,99}")


@dataclass(frozen=True)
class Effect:
    """What a job writes: a function of a transaction, committed together with the end of the job, or not at all."""

    work: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class JobRun:
    """One attempt at a job, as its handler sees it."""

    job: Job
    context: Context
    """The context of the user whose job it is."""
    still_ours: Callable[[], bool]
    """Gives a sign of life and tells whether the job is still this worker's, for long handlers to ask now and then."""
    round: int = 1
    """How often the handler was asked in this attempt: again when its Effect was overtaken by what others wrote."""
    kept: dict[str, Any] = field(default_factory=dict)
    """What the handler keeps for when it is asked again in this attempt."""

    @property
    def scope(self) -> Scope:
        return self.context.scope


Handler = Callable[[JobRun], Any]
"""Thinks as long as it needs, outside of any transaction, and returns a JSON value to keep, or an Effect."""


def validate_kind(kind: object) -> str:
    if isinstance(kind, str) and _KIND.fullmatch(kind):
        return kind
    raise InvalidInput(
        f"{kind!r} cannot be a kind of job.", hint="Use lower-case letters, digits, '_', '-' and '.', at most 100."
    )


class JobHandlers:
    """The kinds of jobs that this engine knows, by name."""

    def __init__(self) -> None:
        self._by_kind: dict[str, Handler] = {}
        self._last: str | None = None

    def register(self, kind: str, handler: Handler) -> None:
        if not callable(handler):
            raise InvalidInput(f"The handler of {kind!r} must be callable, not a {type(handler).__name__}.")
        self._by_kind[validate_kind(kind)] = handler

    def kinds_in_turn(self) -> list[str]:
        """All kinds, the one that was found last at the end, so that a flood of one does not hold up the others."""
        kinds = list(self._by_kind)
        first = kinds.index(self._last) + 1 if self._last in kinds else 0
        return kinds[first:] + kinds[:first]

    def found(self, kind: str) -> None:
        self._last = kind

    def of(self, kind: str) -> Handler:
        return self._by_kind[kind]
