"""Facts that were learned elsewhere, written once each, however often they are imported.

An atom's id is made from the fact's name at the source and from its text. So a version that was imported before is
found again even if it was superseded since, and is not written twice. Under the key of the source, a fact whose text
has changed there supersedes its former version, unless that was changed here: what was learned here is newer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from longmind.clock import Micros, to_micros
from longmind.errors import LongmindError, StoreBusy
from longmind.ids import id_of
from longmind.memory.atoms import insert_atoms, replace_atom
from longmind.memory.service import Memory
from longmind.memory.validation import validate_atom
from longmind.models.atom import Atom
from longmind.scope import IDENTITY_LIMIT, Scope
from longmind.store.database import Transaction
from longmind.store.tables import atoms as store
from longmind.store.tables import restated_atoms, spaces
from longmind.store.tables.atom_rows import PreparedAtom

_TRIES = 5

FactVerdict = Literal["new", "changed", "known", "changed_here", "forgotten"]
"""The outcome for a fact: it is new; it replaces its former version; it was imported before; its former version was
changed here since, which counts; or it was deleted here, and stays so."""


@dataclass(frozen=True)
class ArchivedFact:
    """A fact to import. Its source identifies it among all of the user's."""

    source: str
    atom: dict[str, Any]
    """The fields of a `NewAtom`, but for the key."""
    former_id: str | None = None
    """The id of the atom that was exported, for a fact that comes back from Longmind's own notations."""


class FactArchive:
    """Imports facts into a space of the user whose memory it is given."""

    def __init__(self, memory: Memory) -> None:
        # Both stand in one room: an import is the addition of many atoms, under ids of its own choice.
        self._service = memory

    def judge(self, space_id: str, facts: Sequence[ArchivedFact]) -> list[FactVerdict]:
        """Return for each fact the outcome that `write` would have."""
        service = self._service
        prepared = [_prepare(service._scope, each, service._clock()) for each in facts]
        formers = [each.former_id for each in facts]
        found = service._database.read(service._scope, _judge, space_id, prepared, formers, service._clock())
        return [verdict for verdict, _ in found]

    def write(self, space_id: str, facts: Sequence[ArchivedFact]) -> list[FactVerdict]:
        """Write the facts that are new or have changed, in one transaction; return the outcome for each.

        No two of them may have the same source.
        """
        for _ in range(_TRIES):
            written = self._try_to_write(space_id, facts)
            if written is not None:
                return written
        raise StoreBusy("The space is being written by another import.")

    def _try_to_write(self, space_id: str, facts: Sequence[ArchivedFact]) -> list[FactVerdict] | None:
        """Write facts; return None if another writer came in between, so that the outcome has to be found again."""
        service, now = self._service, self._service._clock()
        prepared = [_prepare(service._scope, each, now) for each in facts]
        formers = [each.former_id for each in facts]
        expected = service._database.read(service._scope, _judge, space_id, prepared, formers, now)
        new = [atom for atom, (verdict, _) in zip(prepared, expected, strict=True) if verdict == "new"]
        changed = [
            (known.id, _begin_later(atom, known, now))
            for atom, (verdict, known) in zip(prepared, expected, strict=True)
            if verdict == "changed" and known is not None
        ]
        # Before the transaction: a model may take seconds for what is new, and is not asked about the rest.
        indexing = service._retriever.begin_indexing(new) if new else None
        indexed = [service._retriever.index([atom]) for _, atom in changed]

        def write(run: Transaction) -> bool:
            # Held from here on, so that nobody else imports the same.
            spaces.begin_change(run, space_id, now)
            if _judge(run, space_id, prepared, formers, now) != expected:
                return False
            if indexing is not None:
                insert_atoms(run, service._scope, space_id, new, indexing, now)
            for (old_id, atom), entries in zip(changed, indexed, strict=True):
                replace_atom(run, service._scope, old_id, atom, entries, now)
            return True

        if (new or changed) and not service._database.write(service._scope, write):
            return None
        return [verdict for verdict, _ in expected]


def explain_refusal(atom: dict[str, Any], now: Micros) -> str | None:
    """Return why a fact cannot be stored; None if it can."""
    try:
        validate_atom(atom, now, "fact")
    except LongmindError as error:
        return error.message
    return None


def _judge(
    run: Transaction, space_id: str, atoms: Sequence[PreparedAtom], formers: Sequence[str | None], now: Micros
) -> list[tuple[FactVerdict, Atom | None]]:
    """Return the outcome for each fact, and the atom that it replaces."""
    # Imported late: the language behind it takes long to load.
    from longmind.extraction.forgotten import ForgettableFact, find_forgotten

    forgotten = find_forgotten(run, space_id, [ForgettableFact(atom.text) for atom in atoms])
    return [
        ("forgotten", None) if place in forgotten else _judge_one(run, space_id, atom, former, now)
        for place, (atom, former) in enumerate(zip(atoms, formers, strict=True))
    ]


def _judge_one(
    run: Transaction, space_id: str, atom: PreparedAtom, former_id: str | None, now: Micros
) -> tuple[FactVerdict, Atom | None]:
    if store.get(run, atom.id) is not None:
        return "known", None
    former = None if former_id is None else store.get(run, former_id)
    if former is not None:
        return _judge_edit(atom, former, space_id)
    holder = None if atom.key is None else restated_atoms.find_by_key(run, space_id, atom.key, now)
    if holder is None:
        return "new", None
    if holder.text == atom.text:
        return "known", None
    return ("changed", holder) if holder.origin == "import" else ("changed_here", None)


def _judge_edit(atom: PreparedAtom, former: Atom, space_id: str) -> tuple[FactVerdict, Atom | None]:
    """Return the outcome for a fact that was exported from here, and perhaps edited in the file."""
    if former.text == atom.text:
        return "known", None
    holds = former.superseded_by is None and former.status == "ACTIVE" and former.memory_space_id == space_id
    return ("changed", former) if holds else ("changed_here", None)


def _begin_later(atom: PreparedAtom, former: Atom, now: Micros) -> PreparedAtom:
    """Return a version that begins after its former one: if the source does not say since when, then now."""
    # An atom that the app keeps under a key stays under it.
    atom = atom._replace(key=former.key or atom.key)
    if atom.valid_from > to_micros(former.valid_from) or (atom.valid_to is not None and atom.valid_to <= now):
        return atom
    return atom._replace(valid_from=now)


def _prepare(scope: Scope, fact: ArchivedFact, now: Micros) -> PreparedAtom:
    atom = validate_atom({**fact.atom, "key": _make_key(fact.source)}, now, "fact")
    digest = hashlib.blake2b(digest_size=8, person=b"longmind.import")
    for piece in (scope.id, fact.source, atom.text):
        encoded = piece.encode("utf-8", "replace")
        digest.update(len(encoded).to_bytes(4) + encoded)
    # The time of an id only orders it, and the source may learn of a time later: it stays out of the identity.
    return atom._replace(id=id_of("atom", 0, digest.hexdigest()))


def _make_key(source: str) -> str:
    if len(source) <= IDENTITY_LIMIT:
        return source
    digest = hashlib.blake2b(source.encode("utf-8", "replace"), digest_size=12).hexdigest()
    return f"{source[: IDENTITY_LIMIT - len(digest) - 1]}#{digest}"
