"""What a scope id stands for: a timeline of the same user, which summaries are filed on."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Self

from longmind.events.introspection import Introspection
from longmind.events.timelines import Timeline
from longmind.models.event import Event
from longmind.scope import ENCODED_LIMIT, Scope, timeline_of, validate_identity
from longmind.store.database import Transaction

P = ParamSpec("P")

_ID = rf"[\w~%!-]{{1,{ENCODED_LIMIT}}}"
_BUCKET = re.compile(rf"(?:session|run|user|app|bucket):{_ID}|org:{_ID}(?::user:{_ID})?|global", re.ASCII)
"""What `scope_id()` gives. Ids are encoded in it, so that these signs are all there can be."""


class Elsewhere(Introspection):
    def _filed_under(self, scope_id: str | None) -> Self:
        """The same service for the timeline that a scope id names; None is this one.

        A name that is none of the known buckets is a bucket of the caller's own. Whatever is named, it is this user's.
        """
        if scope_id is None or scope_id == self.scope_id():
            return self
        if not isinstance(scope_id, str) or not _BUCKET.fullmatch(scope_id):
            return self.at(bucket=validate_identity("scope_id", scope_id))
        there = self.at("org")
        there._timeline = Timeline(timeline_of(self._scope, scope_id), None)
        return there

    def _read(
        self, work: Callable[Concatenate[Transaction, Scope, P], list[Event]], *args: P.args, **kwargs: P.kwargs
    ) -> list[Event]:
        return self._database.read(self._scope, work, self._scope, *args, **kwargs)

    def _told_under(self, scope_id: str | None) -> list[Self]:
        """Whose events a scope id stands for: those of its timeline, or else, under a name of the caller's, these."""
        place = self._filed_under(scope_id)
        named = scope_id is not None and not _BUCKET.fullmatch(scope_id)
        return [place, self] if named else [place]
