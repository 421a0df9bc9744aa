"""The names that one person goes by: "Anna" is "User's sister" where a space, or what is being extracted, says so."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from longmind.extraction.candidate import Candidate, Mention
from longmind.extraction.reconcile.decisions import KnownAtom
from longmind.extraction.reconcile.endings import strip_speaker
from longmind.models.entity import fold_name
from longmind.store.database import Transaction
from longmind.store.tables import entities

_USER = "user"


class PersonAliases:
    """All names of the persons of a space, by any one of them; what was looked up is remembered."""

    def __init__(self, run: Transaction, space_id: str, mentions: Iterable[Mention]) -> None:
        self._run = run
        self._space_id = space_id
        self._told: dict[str, set[str]] = {}
        for mention in mentions:
            if mention.type == "PERSON" and mention.aliases:
                names = {fold_name(name) for name in (mention.name, *mention.aliases)}
                for name in names:
                    self._told.setdefault(name, set()).update(names)
        self._found: dict[str, frozenset[str]] = {}

    def of(self, name: str) -> frozenset[str]:
        """The folded names of whoever is called so, this one included."""
        if name == _USER:
            return frozenset((name,))
        if name not in self._found:
            told = self._told.get(name, {name})
            self._found[name] = frozenset(told.union(*(self._stored(each) for each in told)))
        return self._found[name]

    def as_named_in(self, candidate: Candidate, known: KnownAtom) -> KnownAtom:
        """What is known, with the person that both speak of under the name that the candidate uses."""
        slot = known.slot
        if candidate.slot is not None and slot is not None and slot.subject in self.of(candidate.slot.subject):
            slot = replace(slot, subject=candidate.slot.subject)
        text = self._reworded(strip_speaker(candidate.text), strip_speaker(known.atom.text))
        if text is not None:
            return replace(known, slot=slot, atom=known.atom.model_copy(update={"text": text}))
        return known if slot is known.slot else replace(known, slot=slot)

    def _reworded(self, new: str, old: str) -> str | None:
        """An old text that begins with a person whom the new one calls otherwise, in the new one's words."""
        first, other = _BEGINNING.match(new), _BEGINNING.match(old)
        if first is None or other is None or first[0] == other[0]:
            return None
        mine, theirs = fold_name(first[0]), fold_name(other[0])
        return first[0] + old[other.end() :] if mine != _USER and theirs in self.of(mine) else None

    def _stored(self, name: str) -> set[str]:
        entity_id = entities.find_folded(self._run, self._space_id, "PERSON", name)
        if entity_id is None:
            return set()
        return {fold_name(each) for each in entities.list_names(self._run, entity_id)}


_BEGINNING = re.compile(r"[A-Z]\w*'s (?:best friend|[a-z-]+)(?=[ ,])|[A-Z]\w*(?= [a-z])")
"""How a sentence about a person begins: with a name, or with whose they are and what."""
