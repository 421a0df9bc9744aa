"""Units of work of the tools that write: entry, quota and search index change together or not at all.

Each runs in the transaction of one call. Raising NeedsConfirmation rolls it back, quota included; once the user agrees
the call runs again from the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from longmind.clock import Micros
from longmind.errors import NotFound, ToolError
from longmind.memory.atoms import put_atom, remove_atom, replace_atom
from longmind.memory.default_space import find_tools_space, open_tools_space
from longmind.models.atom import Atom, Trust
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import atoms, quotas
from longmind.store.tables.atom_rows import PreparedAtom
from longmind.store.tables.quotas import Counter, QuotaLimits
from longmind.tools.user_consent import CONSENT_STAGE, NeedsConfirmation

if TYPE_CHECKING:
    from longmind.recall.index.index_batch import IndexBatch

_USER_TRUST: frozenset[Trust] = frozenset({"user", "app"})


def store_entry(
    run: Transaction,
    scope: Scope,
    atom: PreparedAtom,
    indexing: IndexBatch,
    supersedes: str | None,
    limits: QuotaLimits,
    now: Micros,
    *,
    confirmed: bool,
) -> Atom:
    """Store an entry, in place of another one if `supersedes` names it; one that is known already is reinforced."""
    _take_quota(run, scope, ("stores",) if supersedes is None else ("stores", "supersedes"), limits, now)
    space = open_tools_space(run, scope, now)
    if supersedes is None:
        return put_atom(run, scope, space.id, atom, indexing, now)
    replaced = _get_entry(run, space.id, supersedes)
    # An entry that was replaced already is a conflict, and the user need not be asked.
    if _is_from_user(replaced) and replaced.superseded_by is None and not confirmed:
        raise NeedsConfirmation(f"Replace {replaced.text!r} with {atom.text!r}?")
    return replace_atom(run, scope, supersedes, atom, indexing.finish(), now)


def delete_entry(
    run: Transaction, scope: Scope, atom_id: str, limits: QuotaLimits, now: Micros, *, confirmed: bool
) -> None:
    """Remove an entry for good."""
    _take_quota(run, scope, ("deletes",), limits, now)
    space = find_tools_space(run, scope)
    entry = _get_entry(run, None if space is None else space.id, atom_id)
    if _is_from_user(entry) and not confirmed:
        raise NeedsConfirmation(f"Forget {entry.text!r}?")
    remove_atom(run, scope, atom_id, now)


def _take_quota(
    run: Transaction, scope: Scope, counters: tuple[Counter, ...], limits: QuotaLimits, now: Micros
) -> None:
    exhausted = quotas.take(run, scope, counters, limits, now)
    if exhausted is not None:
        raise ToolError(
            "RATE_LIMITED",
            f"This session has used up its {limits[exhausted]} {exhausted}.",
            stage=CONSENT_STAGE,
            hint="Leave the rest for a later session, or store what matters most in fewer entries.",
        )


def _get_entry(run: Transaction, space_id: str | None, atom_id: str) -> Atom:
    atom = atoms.get(run, atom_id)
    if atom is None or atom.memory_space_id != space_id:
        raise NotFound("atom", atom_id)
    return atom


def _is_from_user(atom: Atom) -> bool:
    return atom.trust in _USER_TRUST
