"""Units of work behind the tools that write: the entry, what is counted and the index change together or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longmind.clock import Micros
from longmind.errors import NotFound, ToolError
from longmind.memory.atoms import keep, remove, replace
from longmind.models.atom import Atom, Trust
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import atoms, quotas, spaces
from longmind.store.tables.atoms import PreparedAtom
from longmind.store.tables.quotas import LIMITS, Counter
from longmind.tools.consent import ALLOWED_AT, NeedsConfirmation

if TYPE_CHECKING:
    from longmind.recall.index.batch import IndexBatch

_ABOVE_AN_AGENT: frozenset[Trust] = frozenset({"user", "app"})


def store(
    run: Transaction,
    scope: Scope,
    atom: PreparedAtom,
    indexing: IndexBatch,
    supersedes: str | None,
    now: Micros,
    *,
    confirmed: bool,
) -> Atom:
    """Keep an entry, in the place of another one if that is named."""
    _count(run, scope, ("stores",) if supersedes is None else ("stores", "supersedes"), now)
    space = spaces.create(run, scope, scope.group, "group", "{}", now)
    if supersedes is None:
        return keep(run, scope, space.id, [atom], indexing, now)[0]
    told = _entry(run, space.id, supersedes)
    # What was replaced already is a conflict, and nobody needs to be asked.
    if _is_the_users(told) and told.superseded_by is None and not confirmed:
        raise NeedsConfirmation(f"May {told.text!r} be replaced by {atom.text!r}?")
    return replace(run, scope, supersedes, atom, indexing.finish(), now)


def delete(run: Transaction, scope: Scope, atom_id: str, now: Micros, *, confirmed: bool) -> None:
    """Remove an entry for good."""
    _count(run, scope, ("deletes",), now)
    told = _entry(run, spaces.find_id(run, scope.group or "", "group"), atom_id)
    if _is_the_users(told) and not confirmed:
        raise NeedsConfirmation(f"May {told.text!r} be forgotten?")
    remove(run, scope, atom_id, now)


def _count(run: Transaction, scope: Scope, counters: tuple[Counter, ...], now: Micros) -> None:
    exhausted = quotas.take(run, scope, counters, now)
    if exhausted is not None:
        raise ToolError(
            "RATE_LIMITED",
            f"This session has used its {LIMITS[exhausted]} {exhausted}.",
            stage=ALLOWED_AT,
            hint="Keep the rest for a later session, or store what matters most in fewer entries.",
        )


def _entry(run: Transaction, space_id: str | None, atom_id: str) -> Atom:
    atom = atoms.get(run, atom_id)
    if atom is None or atom.memory_space_id != space_id:
        raise NotFound("atom", atom_id)
    return atom


def _is_the_users(atom: Atom) -> bool:
    return atom.trust in _ABOVE_AN_AGENT
