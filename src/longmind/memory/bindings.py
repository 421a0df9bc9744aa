"""Operations on bindings, and extraction by hand."""

from __future__ import annotations

import re
from typing import Any

from longmind.clock import Micros
from longmind.errors import InvalidInput, LimitExceeded, NotFound
from longmind.memory.base import MemoryBase
from longmind.memory.validation import validate_value
from longmind.models.binding import (
    EVERYBODY,
    Binding,
    ConversationScope,
    ExtractionPolicy,
    ExtractionPreview,
    PolicyInput,
    ScopeInput,
)
from longmind.models.conversation import Conversation
from longmind.models.job import Job
from longmind.models.value import Page
from longmind.scope import Scope, validate_identity
from longmind.store.database import Transaction
from longmind.store.tables import bindings as store
from longmind.store.tables import conversations, jobs
from longmind.store.tables.bindings import NewBinding
from longmind.store.triggers import extraction_orders
from longmind.store.triggers.extraction_orders import ExtractionOrder
from longmind.validation.annotated import LIMIT, BindingId, ConversationId, Label, Limit, SpaceId
from longmind.validation.identifiers import validate_id
from longmind.validation.text import validate_text

MOST_MEMBERS = 1_000
"""Alternatives of a binding's scope, and spaces of a binding."""
MOST_WINDOW_TURNS = 10_000
_VERSION_LIMIT = 64
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\-]*")


class Bindings(MemoryBase):
    """Which conversations become memory."""

    def create_binding(
        self,
        conversation_scope: ScopeInput,
        memory_space_ids: list[SpaceId],
        extraction_policy: PolicyInput | None = None,
    ) -> Binding:
        """Have conversations made into memory: those of a namespace and a user, `*` for all, or a list of such.

        What other users say goes into their own space of the same name. To bind conversations of others takes the
        capability `admin`.
        """
        scope = _validate_scope(conversation_scope)
        new = NewBinding(
            scope,
            _validate_spaces(memory_space_ids),
            _validate_policy(validate_value(ExtractionPolicy, extraction_policy or {}, "extraction_policy")),
        )
        if store.reaches_others(new.members, self._scope.user_id):
            self._scope.require("admin")
        return self._database.write(self._scope, store.create, self._scope, new, self._clock())

    def get_binding(self, binding_id: BindingId) -> Binding | None:
        """Look a binding up; None when there is none with this id, or it is not this user's."""
        return self._database.read(self._scope, store.find, self._scope, validate_id("binding_id", binding_id))

    def list_bindings(self, *, limit: Limit = 100, cursor: str | None = None) -> Page[Binding]:
        """The bindings that the user has made, newest first; with the capability `admin`, all of the app."""
        most = LIMIT.check("limit", limit)
        before = None if cursor is None else validate_id("cursor", cursor)
        found = self._database.read(self._scope, store.list_newest_first, self._scope, before, most + 1)
        return Page(found[:most], found[most - 1].id if len(found) > most else None)

    def update_binding(
        self, binding_id: BindingId, *, extraction_policy: PolicyInput | None = None, enabled: bool | None = None
    ) -> Binding:
        """Change the policy, of which what is left out stays as it is, or pause and resume. The scope is for ever.

        What was queued before a pause waits for its end; what closes in it is not extracted by itself.
        """
        if enabled is not None and not isinstance(enabled, bool):
            raise InvalidInput(f"enabled must be True or False, not {enabled!r}.")
        changes = _validate_changes(extraction_policy)
        checked = validate_id("binding_id", binding_id)
        updated = self._database.write(self._scope, _update, self._scope, checked, changes, enabled, self._clock())
        if enabled:
            self._wake_waiting(updated.id)
        return updated

    def delete_binding(self, binding_id: BindingId) -> None:
        """Have nothing more extracted by a binding, also not what is queued already. Memory stays."""
        checked = validate_id("binding_id", binding_id)
        self._database.write(self._scope, store.delete, self._scope, checked, self._clock())
        self._wake_waiting(checked)

    def run_extraction_for_conversation(
        self, conversation_id: ConversationId, *, extraction_version: Label | None = None, dry_run: bool = False
    ) -> list[Job] | list[ExtractionPreview]:
        """Extract a whole conversation again: a job for each binding and space that it falls under.

        With another version, what the earlier one has made of this conversation is superseded. A dry run writes
        nothing, and gives what would be added, reinforced, superseded and skipped.
        """
        checked = validate_id("conversation_id", conversation_id)
        version = None if extraction_version is None else _validate_version(extraction_version)
        if dry_run:
            orders = self._database.read(self._scope, _list_replays, self._scope, checked, version)
            return [self._pipeline.preview(self._scope, order) for order in orders]
        jobs = self._database.write(
            self._scope, _queue_replays, self._scope, checked, version, self._clock(), self._job_attempts
        )
        self._wake_workers()
        return jobs

    def _wake_waiting(self, binding_id: str) -> None:
        """Have the jobs looked at again that wait for the end of a pause, of all users who fall under the binding."""
        self._database.write(None, jobs.hasten, extraction_orders.EXTRACT, binding_id, self._clock())
        self._wake_workers()


def _update(
    run: Transaction, scope: Scope, binding_id: str, changes: dict[str, Any], enabled: bool | None, now: Micros
) -> Binding:
    known = store.get(run, scope, binding_id).extraction_policy
    policy = _validate_policy(known.model_copy(update=changes))
    return store.update(run, scope, binding_id, policy, enabled, now)


def _list_replays(run: Transaction, scope: Scope, conversation_id: str, version: str | None) -> list[ExtractionOrder]:
    return extraction_orders.list_replays(run, scope, _require_conversation(run, conversation_id), version)


def _queue_replays(
    run: Transaction, scope: Scope, conversation_id: str, version: str | None, now: Micros, attempts: int
) -> list[Job]:
    return extraction_orders.queue_replays(
        run, scope, _require_conversation(run, conversation_id), version, now, attempts
    )


def _require_conversation(run: Transaction, conversation_id: str) -> Conversation:
    found = conversations.get(run, conversation_id)
    if found is None:
        raise NotFound("conversation", conversation_id)
    return found


def _validate_scope(given: object) -> ConversationScope | list[ConversationScope]:
    if isinstance(given, list | tuple):
        if not given:
            raise InvalidInput("conversation_scope is empty.", hint="Name at least one namespace and user.")
        if len(given) > MOST_MEMBERS:
            raise LimitExceeded("conversation_scope", limit=MOST_MEMBERS, given=len(given), unit="members")
        return [_validate_member(each, f"conversation_scope[{place}]") for place, each in enumerate(given)]
    return _validate_member(given, "conversation_scope")


def _validate_member(given: object, where: str) -> ConversationScope:
    member = validate_value(ConversationScope, given, where)
    for name, value in (("namespace", member.namespace), ("user_id", member.user_id)):
        if value != EVERYBODY:
            validate_identity(f"{where}.{name}", value)
    return member


def _validate_spaces(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, list | tuple):
        raise InvalidInput(f"memory_space_ids must be a list, not {type(given).__name__}.")
    if not given:
        raise InvalidInput("memory_space_ids is empty.", hint="Name the spaces that conversations are extracted into.")
    if len(given) > MOST_MEMBERS:
        raise LimitExceeded("memory_space_ids", limit=MOST_MEMBERS, given=len(given), unit="members")
    return tuple(dict.fromkeys(validate_id(f"memory_space_ids[{place}]", each) for place, each in enumerate(given)))


def _validate_changes(given: PolicyInput | None) -> dict[str, Any]:
    """The parts of a policy that are given, each as far as it can be checked alone."""
    if given is None:
        return {}
    policy = validate_value(ExtractionPolicy, given, "extraction_policy")
    return {name: getattr(policy, name) for name in policy.model_fields_set}


def _validate_policy(policy: ExtractionPolicy) -> ExtractionPolicy:
    _validate_version(policy.extraction_version)
    turns = policy.window_turns
    if not 0 <= turns <= MOST_WINDOW_TURNS:
        raise InvalidInput(f"window_turns is {turns}.", hint=f"It is from 0 to {MOST_WINDOW_TURNS:,}.")
    if policy.windowed and turns == 0:
        raise InvalidInput("windowed is True, and window_turns is 0.", hint="Say after how many turns to extract.")
    return policy


def _validate_version(version: object) -> str:
    checked = validate_text("extraction_version", version, limit=_VERSION_LIMIT, blank=False)
    if not _VERSION.fullmatch(checked):
        raise InvalidInput(
            f"extraction_version is {version!r}.", hint="Use letters, digits, '.', '-' and '_', like 'v1'."
        )
    return checked
