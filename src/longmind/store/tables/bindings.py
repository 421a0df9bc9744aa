"""Bindings: which conversations are extracted into which spaces.

They belong to an app, since a binding may cover the conversations of several users. The user who made one sees it, and
so does an administrator of the app. Members of a binding stand in a table of their own, by which an append finds out in
one lookup whether anything counts its turns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from longmind.clock import Micros, to_iso
from longmind.errors import Conflict, InvalidInput, NotFound
from longmind.ids import new_id
from longmind.models.binding import EVERYBODY, Binding, ConversationScope, ExtractionPolicy
from longmind.scope import Scope
from longmind.store.database import BEYOND_ALL_IDS, Row, Transaction
from longmind.store.tables import spaces
from longmind.store.tables.ledger import record_change

_ALL = 2**53
"""More bindings than anybody has."""


BindingState = Literal["active", "paused", "gone"]


@dataclass(frozen=True)
class BoundSpace:
    """A space as a binding knows it. In the memory of others it stands for their space of the same name."""

    id: str
    name: str | None
    deleted: bool = False
    owner: str | None = None
    """The owner of a shared space, which stands for nothing but itself."""


@dataclass(frozen=True)
class NewBinding:
    """A binding that was validated, but has no id yet."""

    conversation_scope: ConversationScope | list[ConversationScope]
    space_ids: tuple[str, ...]
    policy: ExtractionPolicy
    is_policy_given: bool = True
    """False if the policy is the default because the caller gave none."""

    @property
    def members(self) -> list[ConversationScope]:
        """The scopes that it covers, also where it was made for a single one."""
        scope = self.conversation_scope
        return [scope] if isinstance(scope, ConversationScope) else scope


def reaches_others(members: list[ConversationScope], user_id: str) -> bool:
    """Return whether any member is a user other than the given one."""
    return any(member.user_id != user_id for member in members)


def create(run: Transaction, scope: Scope, new: NewBinding, now: Micros) -> Binding:
    """Make a binding, or return the user's own of the same scope and spaces unchanged.

    Raise NotFound for an unknown space, InvalidInput for one that others cannot match, and Conflict if the user's own
    has another policy than the one that the caller gave.
    """
    bound = [_to_bound_space(run, space_id) for space_id in new.space_ids]
    if reaches_others(new.members, scope.user_id):
        unnamed = [space.id for space in bound if space.name is None and space.owner is None]
        if unnamed:
            raise InvalidInput(
                f"The space {unnamed[0]!r} has no name.",
                hint="Bind named spaces: memory of other users goes into their own spaces of the same name.",
            )
    existing = _find_same(run, scope, new)
    if existing is None:
        # Holds the app's bindings until the transaction ends, so of two that find none only the first makes one.
        raise_revision(run)
        existing = _find_same(run, scope, new)
    if existing is not None:
        return existing
    binding_id = new_id("bind", now)
    run.send(
        "insert_binding",
        id=binding_id,
        tenant_id=scope.tenant_id,
        app_id=scope.app_id,
        user_id=scope.user_id,
        conversation_scope=_encode_scope(new),
        spaces=_json([vars(space) for space in bound]),
        now=now,
        **_policy_columns(new.policy),
    )
    binding = get(run, scope, binding_id)
    _put_members(run, binding)
    record_change(run, scope, "binding.created", now, binding_id=binding_id)
    return binding


def _find_same(run: Transaction, scope: Scope, new: NewBinding) -> Binding | None:
    """Return the user's binding of the same scope and spaces; raise Conflict if it has another policy."""
    rows = run.all("bindings_of_scope", user_id=scope.user_id, conversation_scope=_encode_scope(new))
    for row in rows:
        if {space.id for space in _read_spaces(row) if not space.deleted} == set(new.space_ids):
            binding = _to_binding(row)
            if new.is_policy_given and binding.extraction_policy != new.policy:
                raise Conflict(
                    f"The binding {binding.id!r} has this scope and these spaces already, with another policy.",
                    hint=f"Change it: update_binding({binding.id!r}, extraction_policy=…).",
                )
            return binding
    return None


def _encode_scope(new: NewBinding) -> str:
    members = [member.model_dump() for member in new.members]
    return _json(members[0] if isinstance(new.conversation_scope, ConversationScope) else members)


def find(run: Transaction, scope: Scope, binding_id: str) -> Binding | None:
    """Return a binding, if there is one that the user may see."""
    row = run.one("get_binding", id=binding_id, user_id=_limit_to_own(scope))
    return _to_binding(row) if row else None


def get(run: Transaction, scope: Scope, binding_id: str) -> Binding:
    """Return a binding; raise NotFound unless there is one that the user may see."""
    binding = find(run, scope, binding_id)
    if binding is None:
        raise NotFound("binding", binding_id)
    return binding


def list_newest_first(run: Transaction, scope: Scope, before_id: str | None, limit: int) -> list[Binding]:
    """Return bindings that the user may see, newest first, that come before the one that was listed last."""
    rows = run.all("list_bindings", user_id=_limit_to_own(scope), before_id=before_id or BEYOND_ALL_IDS, limit=limit)
    return [_to_binding(row) for row in rows]


def read_every(run: Transaction, scope: Scope) -> Iterator[Binding]:
    """Yield all bindings that a user has made. Only inside of `read_snapshot`."""
    return map(_to_binding, run.each("every_binding", user_id=scope.user_id))


def update(
    run: Transaction, scope: Scope, binding_id: str, policy: ExtractionPolicy, enabled: bool | None, now: Micros
) -> Binding:
    """Give a binding a policy, and pause or resume it; `enabled` None leaves that as it is."""
    known = get(run, scope, binding_id)
    _require_reach(scope, known)
    row = run.one(
        "update_binding",
        id=binding_id,
        enabled=int(known.enabled if enabled is None else enabled),
        now=now,
        **_policy_columns(policy),
    )
    if row is None:
        raise NotFound("binding", binding_id)
    binding = _to_binding(row)
    # Members carry the policy and exist only while the binding is enabled, so they are written again.
    run.send("drop_binding_members", binding_id=binding_id)
    _put_members(run, binding)
    raise_revision(run)
    record_change(run, scope, "binding.updated", now, binding_id=binding_id)
    return binding


def delete(run: Transaction, scope: Scope, binding_id: str, now: Micros) -> None:
    """Delete a binding. What it has extracted stays."""
    _require_reach(scope, get(run, scope, binding_id))
    if run.one("delete_binding", id=binding_id) is None:
        raise NotFound("binding", binding_id)
    run.send("drop_binding_members", binding_id=binding_id)
    raise_revision(run)
    record_change(run, scope, "binding.deleted", now, binding_id=binding_id)


def raise_revision(run: Transaction) -> None:
    """Tell caches that bindings of the app have changed."""
    run.send("raise_binding_revision")


def list_covered(run: Transaction, user_id: str) -> list[tuple[str, list[BoundSpace]]]:
    """Return the namespaces of a user that enabled bindings cover, `*` for all, each with the spaces of its binding.

    A namespace comes once for each of its bindings. Deleted spaces are left out, and bindings that have no others.
    """
    rows = run.all("covering_members", user_id=user_id)
    covered = [(namespace, _to_bound_spaces(bound)) for namespace, bound in rows]
    live = [(namespace, [space for space in bound if not space.deleted]) for namespace, bound in covered]
    return [(namespace, bound) for namespace, bound in live if bound]


def list_covered_for(
    run: Transaction, scope: Scope, space_id: str, covered: Iterable[tuple[str, Sequence[BoundSpace]]]
) -> list[str]:
    """Return those of the covered namespaces that lead to a space of a user.

    A binding leads to the space that it names, if that is the user's, and else to the user's own of the same name.
    """
    space = spaces.get(run, space_id)
    if space is None:
        return []
    namesakes = space.name if space.kind == "user" else None

    def leads_there(bound: BoundSpace) -> bool:
        if bound.id == space_id or bound.owner is not None or bound.name is None or bound.name != namesakes:
            return bound.id == space_id
        return spaces.get(run, bound.id) is None

    return sorted({namespace for namespace, bound in covered if any(map(leads_there, bound))})


def is_covered(run: Transaction, scope: Scope, namespace: str) -> bool:
    """Return whether a binding covers the user's conversations in a namespace; paused ones of the user's own count."""
    if list_matching(run, scope.user_id, namespace):
        return True
    own = run.all("list_bindings", user_id=scope.user_id, before_id=BEYOND_ALL_IDS, limit=_ALL)
    members = [member for row in own for member in _to_binding(row).members]
    return any(
        member.user_id in (scope.user_id, EVERYBODY) and member.namespace in (namespace, EVERYBODY)
        for member in members
    )


def is_bound(run: Transaction, scope: Scope, namespace: str, space_id: str) -> bool:
    """Return whether a binding leads from a namespace of the user into one of their spaces.

    Bindings that others have made for all users count, and so do paused ones of the user's own.
    """
    covered = list_covered(run, scope.user_id)
    # Paused bindings have no members, so they are looked up among those that the user has made.
    for row in run.all("list_bindings", user_id=scope.user_id, before_id=BEYOND_ALL_IDS, limit=_ALL):
        binding = _to_binding(row)
        if not binding.enabled:
            bound = [space for space in _read_spaces(row) if not space.deleted]
            covered += [(member.namespace, bound) for member in binding.members if member.user_id == scope.user_id]
    return not {namespace, EVERYBODY}.isdisjoint(list_covered_for(run, scope, space_id, covered))


def list_matching(run: Transaction, user_id: str, namespace: str) -> list[tuple[Binding, list[BoundSpace]]]:
    """Return the enabled bindings that a conversation falls under, each with its spaces that are not deleted."""
    rows = run.all("bindings_of_conversation", user_id=user_id, namespace=namespace)
    return [(_to_binding(row), [space for space in _read_spaces(row) if not space.deleted]) for row in rows]


def find_space(run: Transaction, binding_id: str, space_id: str) -> tuple[BindingState, BoundSpace | None]:
    """Return the state of a binding for one of its spaces, and the space.

    The state is `gone`, and the space None, if the binding is deleted or does not name the space, or the space is
    deleted.
    """
    row = run.one("get_binding", id=binding_id, user_id=None)
    bound = [] if row is None else [space for space in _read_spaces(row) if space.id == space_id and not space.deleted]
    if row is None or not bound:
        return "gone", None
    return ("active" if _to_binding(row).enabled else "paused"), bound[0]


def mark_space_deleted(run: Transaction, scope: Scope, space_id: str) -> None:
    """Keep the bindings of a deleted space from extracting into it, and for others into theirs of the same name."""
    for row in run.all("list_bindings", user_id=scope.user_id, before_id=BEYOND_ALL_IDS, limit=_ALL):
        # Bound spaces stand as JSON in the row of each binding.
        bound = _read_spaces(row)
        if any(space.id == space_id for space in bound):
            marked = [replace(space, deleted=space.deleted or space.id == space_id) for space in bound]
            run.send("put_bound_spaces", id=row[0], spaces=_json([vars(space) for space in marked]))
            raise_revision(run)


def forget_user(run: Transaction, user_id: str) -> int:
    """Take an erased user out of the bindings that others have made, and return how many named them.

    A binding that covers nobody else is deleted.
    """
    named = 0
    rows = run.all("list_bindings", user_id=None, before_id=BEYOND_ALL_IDS, limit=_ALL)
    if rows:
        # Those that the user has made are about to be erased.
        raise_revision(run)
    for row in rows:
        binding = _to_binding(row)
        left = [member for member in binding.members if member.user_id != user_id]
        if binding.user_id == user_id or len(left) == len(binding.members):
            continue
        named += 1
        if left:
            run.send(
                "put_conversation_scope", id=binding.id, conversation_scope=_json([each.model_dump() for each in left])
            )
        else:
            run.send("delete_binding", id=binding.id)
            run.send("drop_binding_members", binding_id=binding.id)
    return named


def _limit_to_own(scope: Scope) -> str | None:
    return None if "admin" in scope.capabilities else scope.user_id


def _require_reach(scope: Scope, binding: Binding) -> None:
    if binding.user_id != scope.user_id or reaches_others(binding.members, scope.user_id):
        scope.require("admin")


def _to_bound_space(run: Transaction, space_id: str) -> BoundSpace:
    space = spaces.get(run, space_id)
    if space is None:
        raise NotFound("memory space", space_id)
    return BoundSpace(space.id, space.name, owner=space.user_id if space.kind == "shared" else None)


def _put_members(run: Transaction, binding: Binding) -> None:
    policy = binding.extraction_policy
    if not binding.enabled:
        return
    for member in binding.members:
        run.send(
            "insert_binding_member",
            binding_id=binding.id,
            user_id=member.user_id,
            namespace=member.namespace,
            on_closed=int(policy.on_conversation_closed),
            window_turns=policy.window_turns if policy.windowed else 0,
        )


def _policy_columns(policy: ExtractionPolicy) -> dict[str, Any]:
    return {
        "extraction_version": policy.extraction_version,
        "on_closed": int(policy.on_conversation_closed),
        "windowed": int(policy.windowed),
        "window_turns": policy.window_turns,
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _read_spaces(row: Row) -> list[BoundSpace]:
    return _to_bound_spaces(row[5])


def _to_bound_spaces(stored: str) -> list[BoundSpace]:
    return [BoundSpace(**space) for space in json.loads(stored)]


def _to_binding(row: Row) -> Binding:
    (
        id, tenant_id, app_id, user_id, conversation_scope, _, extraction_version, on_closed, windowed, window_turns,
        enabled, created_at, updated_at,
    ) = row  # fmt: skip
    members = json.loads(conversation_scope)
    return Binding(
        id=id,
        tenant_id=tenant_id,
        app_id=app_id,
        user_id=user_id,
        conversation_scope=[ConversationScope(**each) for each in members]
        if isinstance(members, list)
        else ConversationScope(**members),
        memory_space_ids=[space.id for space in _read_spaces(row)],
        extraction_policy=ExtractionPolicy(
            extraction_version=extraction_version,
            on_conversation_closed=bool(on_closed),
            windowed=bool(windowed),
            window_turns=window_turns,
        ),
        enabled=bool(enabled),
        created_at=to_iso(created_at),
        updated_at=to_iso(updated_at),
    )
