"""Facts that the app states again, and facts that it keeps under a key.

A fact is the same if it has the text of a known one, its category, its speaker and its end, begins now or when that one
began, and is not about other entities. An episode is another one each time: only with the same beginning it is the
same. Invariants:

- Of the atoms that hold, at most one has a key. The writer of a space holds its row (`spaces.begin_change`) while it
  looks for that atom, and one that is restored gives its key up if another atom has it by then.
- A newer version of a fact keeps the key of the older one, unless it has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, get_args

from longmind.clock import Micros, to_micros
from longmind.errors import Conflict, LimitExceeded
from longmind.models.atom import Atom, Trust
from longmind.scope import Scope
from longmind.store.database import Row, Transaction
from longmind.store.tables.atom_references import check_sources, resolve_entities
from longmind.store.tables.atom_rows import PreparedAtom, encode_list, to_atom
from longmind.store.tables.ledger import record_change
from longmind.store.text_hash import fold_statement, hash_text
from longmind.validation.identifiers import LIST_LIMIT

_TRUSTS: tuple[Trust, ...] = get_args(Trust)
"""The levels of trust, the highest first."""


class RestatedFact(NamedTuple):
    """The known atom that a new one is about."""

    atom: Atom
    is_same: bool
    """True if the new one states the same; False if it replaces the known one, whose key it has."""


def ask_known(run: Transaction, space_id: str, new: PreparedAtom, now: Micros) -> Callable[[], RestatedFact | None]:
    """Send the statements that look for the known atom that a new one is about, and return a function that waits for
    their answers.

    The caller has begun to change the space in the same transaction, or has sent the statement that does.
    """
    keyed = None
    if new.key is not None:
        keyed = run.ask("atom_by_key", space_id=space_id, key=new.key, now=now)
    stated = run.ask(
        "atom_by_text",
        space_id=space_id,
        text_hash=hash_text(new.text),
        category_name=new.category_name,
        kind=new.kind,
        trust=new.trust,
        speaker=new.speaker,
        has_key=int(new.key is not None),
        valid_from=new.valid_from,
        valid_to=new.valid_to,
        begins_now=int(_begins_now(new, now)),
        entity_ids=encode_list(new.entity_ids),
        now=now,
    )

    def wait() -> RestatedFact | None:
        holder = None if keyed is None else keyed()
        found = stated()
        if holder is not None:
            known = _to_atom(holder)
            return RestatedFact(known, _is_same(known, new, now))
        if found is None:
            return None
        known = _to_atom(found)
        # A hash may be that of two texts.
        return RestatedFact(known, True) if _has_same_text(known, new) else None

    return wait


def find_by_key(run: Transaction, space_id: str, key: str, now: Micros) -> Atom | None:
    """Return the atom of a space that holds now and has a key; None if there is none."""
    row = run.one("atom_by_key", space_id=space_id, key=key, now=now)
    return None if row is None else _to_atom(row)


def restate(
    run: Transaction,
    scope: Scope,
    known: Atom,
    new: PreparedAtom,
    revision: int,
    now: Micros,
) -> None:
    """Reinforce a known atom by one that states the same. Lists are united, and metadata that is given replaces."""
    (conversation_id,) = check_sources(run, [new])
    (new,) = resolve_entities(run, known.memory_space_id, [new])
    run.send(
        "restate_atom",
        id=known.id,
        source_conversation_id=known.source_conversation_id or conversation_id,
        source_message_ids=_unite("source_message_ids", known.source_message_ids, new.source_message_ids),
        entity_ids=_unite("entity_ids", known.entity_ids, new.entity_ids),
        tags=_unite("tags", known.tags, new.tags),
        # None leaves the column as it is.
        metadata=None if new.metadata == "{}" else new.metadata,
        key=known.key or new.key,
        confidence=max(known.confidence, new.confidence),
        importance=max(known.importance, new.importance),
        trust=min(known.trust, new.trust, key=_TRUSTS.index),
        confirmed_at=max(new.created_at, to_micros(known.created_at)),
        revision=revision,
        now=now,
    )
    for entity_id in new.entity_ids:
        run.send("link_atom", entity_id=entity_id, atom_id=known.id)
    record_change(run, scope, "atom.reinforced", now, space_id=known.memory_space_id, atom_id=known.id)


def choose_key(run: Transaction, space_id: str, old: Atom, new: PreparedAtom, now: Micros) -> str | None:
    """Return the key of a version that replaces an atom; raise Conflict if another atom has it."""
    if new.key is None or new.key == old.key:
        return old.key
    holder = run.one("atom_by_key", space_id=space_id, key=new.key, now=now)
    if holder is not None:
        raise Conflict(
            f"The key {new.key!r} belongs to the atom {_to_atom(holder).id!r}.",
            hint="Supersede that atom, or pass another key.",
        )
    return new.key


def release_taken_key(run: Transaction, atom_id: str, revision: int, now: Micros) -> None:
    """Take the key from an atom that holds again, if another atom has it by now."""
    run.send("release_taken_key", id=atom_id, revision=revision, now=now)


def _begins_now(new: PreparedAtom, now: Micros) -> bool:
    return new.kind != "EPISODE" and new.valid_from == now


def _is_same(known: Atom, new: PreparedAtom, now: Micros) -> bool:
    """Return whether an atom states what the one with its key states."""
    begins, ends = to_micros(known.valid_from), None if known.valid_to is None else to_micros(known.valid_to)
    return (
        _has_same_text(known, new)
        and (known.category.name, known.category.kind, ends) == (new.category_name, new.kind, new.valid_to)
        and (begins == new.valid_from or (_begins_now(new, now) and begins < now))
    )


def _has_same_text(known: Atom, new: PreparedAtom) -> bool:
    return known.text == new.text or fold_statement(known.text) == fold_statement(new.text)


def _unite(name: str, known: Iterable[str], new: Iterable[str]) -> str:
    united = list(dict.fromkeys((*known, *new)))
    if len(united) > LIST_LIMIT:
        raise LimitExceeded(f"atom.{name}", limit=LIST_LIMIT, given=len(united), unit="members")
    return encode_list(united)


def _to_atom(row: Row) -> Atom:
    return to_atom(row)[1]
