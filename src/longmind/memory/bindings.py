"""Operations on bindings, and extraction on request."""

from __future__ import annotations

from typing import Any

from longmind.clock import Micros
from longmind.errors import InvalidInput, LimitExceeded, NotFound
from longmind.memory.service_base import MemoryBase
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
from longmind.store.triggers import extraction_requests
from longmind.store.triggers.extraction_requests import ExtractionOrder
from longmind.validation.identifiers import validate_id
from longmind.validation.parameter_limits import LIMIT, BindingId, ConversationId, Label, Limit, SpaceId

MOST_MEMBERS = 1_000
"""Alternatives in the scope of a binding, and spaces of a binding."""
MOST_WINDOW_TURNS = 10_000


class Bindings(MemoryBase):
    """The rules for which conversations become memory."""

    def create_binding(
        self,
        conversation_scope: ScopeInput,
        memory_space_ids: list[SpaceId],
        extraction_policy: PolicyInput | None = None,
    ) -> Binding:
        """Bind conversations to memory spaces: conversations of the scope are extracted into them.

        If the user has made a binding of the same scope and spaces, it is returned unchanged. Raises Conflict if it has
        another policy than the one that is given; change that with `update_binding`.

        conversation_scope: a namespace and a user, each `*` for all, or a list of up to 1,000 such pairs.
        memory_space_ids: at most 1,000 spaces of the user, by their ids or names. What other users say goes into a
        shared space, or else into their own space of the same name.
        extraction_policy: when to extract; by default when a conversation closes.

        Binding conversations of other users needs the capability `admin`.
        """
        scope = _validate_scope(conversation_scope)
        policy = _validate_policy(validate_value(ExtractionPolicy, extraction_policy or {}, "extraction_policy"))
        self._versions.validate(policy.extraction_version)
        spaces = self._find_spaces(memory_space_ids)
        new = NewBinding(scope, spaces, policy, is_policy_given=extraction_policy is not None)
        # A binding reads conversations, so users may bind only their own.
        if store.reaches_others(new.members, self._scope.user_id):
            self._scope.require("admin")
        return self._database.write(self._scope, store.create, self._scope, new, self._clock())

    def _find_spaces(self, given: object) -> tuple[str, ...]:
        """Return the ids of the spaces that a binding leads to, without duplicates."""
        return tuple(dict.fromkeys(map(self._find_space, _validate_spaces(given))))

    def get_binding(self, binding_id: BindingId) -> Binding | None:
        """Return a binding, or None if this user has none with this id.

        binding_id: the binding.
        """
        return self._database.read(self._scope, store.find, self._scope, validate_id("binding_id", binding_id))

    def list_bindings(self, *, limit: Limit = 100, cursor: str | None = None) -> Page[Binding]:
        """List the bindings of the user, newest first; with the capability `admin`, all of the app.

        limit: at most that many, from 1 to 10,000. cursor: `next_cursor` of the previous page; by default the newest.
        """
        most = LIMIT.check("limit", limit)
        before = None if cursor is None else validate_id("cursor", cursor)
        found = self._database.read(self._scope, store.list_newest_first, self._scope, before, most + 1)
        return Page(found[:most], found[most - 1].id if len(found) > most else None)

    def update_binding(
        self, binding_id: BindingId, *, extraction_policy: PolicyInput | None = None, enabled: bool | None = None
    ) -> Binding:
        """Change the policy of a binding, or pause and resume it. The scope never changes.

        binding_id: the binding. extraction_policy: the fields to change; the others keep their values.
        enabled: False pauses, True resumes. Queued extractions wait for the end of the pause; conversations that close
        in it are not extracted.
        """
        if enabled is not None and not isinstance(enabled, bool):
            raise InvalidInput(f"enabled must be True or False, not {enabled!r}.")
        changes = _validate_changes(extraction_policy)
        # Only a version that is passed: a binding of an earlier release can be paused whatever it names.
        if "extraction_version" in changes:
            self._versions.validate(changes["extraction_version"])
        checked = validate_id("binding_id", binding_id)
        updated = self._database.write(self._scope, _update, self._scope, checked, changes, enabled, self._clock())
        # Resuming makes the waiting jobs due at once; otherwise they look again after minutes.
        if enabled:
            self._wake_waiting(updated.id)
        return updated

    def delete_binding(self, binding_id: BindingId) -> None:
        """Delete a binding: nothing more is extracted by it, queued jobs included. Memory stays.

        binding_id: the binding.
        """
        checked = validate_id("binding_id", binding_id)
        self._database.write(self._scope, store.delete, self._scope, checked, self._clock())
        # Waiting jobs find the binding gone, and end.
        self._wake_waiting(checked)

    def run_extraction_for_conversation(
        self, conversation_id: ConversationId, *, extraction_version: Label | None = None, dry_run: bool = False
    ) -> list[Job] | list[ExtractionPreview]:
        """Extract a whole conversation again: queue a job for each binding and space that covers it; return the jobs.

        conversation_id: the conversation.
        extraction_version: with another version than before, the facts of the earlier one are superseded.
        dry_run: write nothing, and return what would be added, reinforced, superseded and skipped.
        """
        checked = validate_id("conversation_id", conversation_id)
        version = None if extraction_version is None else self._versions.validate(extraction_version)
        # A dry run does in this call what the jobs would do, up to the transaction that writes.
        if dry_run:
            orders = self._database.read(self._scope, _list_replays, self._scope, checked, version)
            return [self._pipeline.preview(self._scope, order) for order in orders]
        jobs = self._database.write(
            self._scope, _queue_replays, self._scope, checked, version, self._clock(), self._job_attempts
        )
        self._wake_workers()
        return jobs

    def _wake_waiting(self, binding_id: str) -> None:
        """Make all users' jobs due that wait for the end of a pause of the binding."""
        self._database.write(None, jobs.hasten, extraction_requests.EXTRACT, binding_id, self._clock())
        self._wake_workers()


def _update(
    run: Transaction, scope: Scope, binding_id: str, changes: dict[str, Any], enabled: bool | None, now: Micros
) -> Binding:
    known = store.get(run, scope, binding_id).extraction_policy
    policy = _validate_policy(known.model_copy(update=changes))
    return store.update(run, scope, binding_id, policy, enabled, now)


def _list_replays(run: Transaction, scope: Scope, conversation_id: str, version: str | None) -> list[ExtractionOrder]:
    return extraction_requests.list_replays(run, scope, _require_conversation(run, conversation_id), version)


def _queue_replays(
    run: Transaction, scope: Scope, conversation_id: str, version: str | None, now: Micros, attempts: int
) -> list[Job]:
    return extraction_requests.queue_replays(
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


def _validate_spaces(given: object) -> list[str]:
    if isinstance(given, str) or not isinstance(given, list | tuple):
        raise InvalidInput(f"memory_space_ids must be a list, not {type(given).__name__}.")
    if not given:
        raise InvalidInput("memory_space_ids is empty.", hint="Name the spaces that conversations are extracted into.")
    if len(given) > MOST_MEMBERS:
        raise LimitExceeded("memory_space_ids", limit=MOST_MEMBERS, given=len(given), unit="members")
    return [validate_id(f"memory_space_ids[{place}]", each) for place, each in enumerate(given)]


def _validate_changes(given: PolicyInput | None) -> dict[str, Any]:
    """Return the fields of a policy that were passed, each checked alone."""
    if given is None:
        return {}
    policy = validate_value(ExtractionPolicy, given, "extraction_policy")
    return {name: getattr(policy, name) for name in policy.model_fields_set}


def _validate_policy(policy: ExtractionPolicy) -> ExtractionPolicy:
    turns = policy.window_turns
    if not 0 <= turns <= MOST_WINDOW_TURNS:
        raise InvalidInput(f"window_turns is {turns}.", hint=f"Pass a number from 0 to {MOST_WINDOW_TURNS:,}.")
    if policy.windowed and turns == 0:
        raise InvalidInput(
            "windowed is True, but window_turns is 0.", hint="Pass the number of turns after which to extract."
        )
    return policy
