"""The handlers of an engine by kind of job, and the values that pass between a handler and its worker.

A handler runs outside of any transaction and may think as long as it needs. To write, it returns an `Effect`, which the
worker commits together with the end of the job. Handlers may run more than once for one job: after a crash, after a
failure, and again within one attempt when an Effect was outdated. So a handler itself must not write.
"""

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
    """A function of a transaction that writes a job's outcome.

    It is committed together with the end of the job, or not at all. It may raise EffectConflict if what the handler
    saw has changed; the handler then runs again.
    """

    work: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class JobRun:
    """One attempt at a job, as its handler sees it."""

    job: Job
    context: Context
    """The context of the user whose job it is."""
    still_ours: Callable[[], bool]
    """Extends the lease and returns whether the job is still this worker's; long handlers call it now and then."""
    round: int = 1
    """Number of this run of the handler in this attempt; above 1 after other writes have outdated its Effect."""
    kept: dict[str, Any] = field(default_factory=dict)
    """Values that the handler keeps for its next round in this attempt."""

    @property
    def scope(self) -> Scope:
        return self.context.scope


Handler = Callable[[JobRun], Any]
"""Runs outside of any transaction; returns a JSON value to store with the job, or an Effect."""


def validate_kind(kind: object) -> str:
    """Return the value if it can name a kind of job; raise InvalidInput otherwise."""
    if isinstance(kind, str) and _KIND.fullmatch(kind):
        return kind
    raise InvalidInput(
        f"{kind!r} is not a valid kind of job.", hint="Use at most 100 lower-case letters, digits, '_', '-' and '.'."
    )


class HandlerRegistry:
    """The kinds of jobs that this engine can do."""

    def __init__(self) -> None:
        self._by_kind: dict[str, Handler] = {}
        self._last: str | None = None

    def register(self, kind: str, handler: Handler) -> None:
        """Add the handler of a kind, or replace it."""
        if not callable(handler):
            raise InvalidInput(f"The handler of {kind!r} must be callable, not a {type(handler).__name__}.")
        self._by_kind[validate_kind(kind)] = handler

    def kinds_in_turn(self) -> list[str]:
        """Return all kinds, the one claimed last at the end, so that a flood of one kind does not delay the others."""
        kinds = list(self._by_kind)
        first = kinds.index(self._last) + 1 if self._last in kinds else 0
        return kinds[first:] + kinds[:first]

    def note_claim(self, kind: str) -> None:
        """Note that a job of this kind was claimed: it is the last in turn now."""
        self._last = kind

    def find_handler(self, kind: str) -> Handler:
        """Return the handler of a registered kind."""
        return self._by_kind[kind]
