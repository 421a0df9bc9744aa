"""Aliases of one person: "Anna" is "User's sister" where the space, or the conversation being extracted, says so."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from longmind.extraction.candidate import Candidate, Mention
from longmind.extraction.reconcile.decisions import KnownAtom
from longmind.extraction.reconcile.ending_statements import strip_speaker
from longmind.models.entity import fold_name
from longmind.store.database import Transaction
from longmind.store.tables import entities

_USER = "user"


class PersonAliases:
    """The names of each person in a space, found by any one of them.

    Names come from the entities of the space and from the mentions of the candidates, which are not written yet.
    Lookups are cached, so an instance serves one plan in one transaction.
    """

    def __init__(self, run: Transaction, space_id: str, mentions: Iterable[Mention]) -> None:
        self._run = run
        self._space_id = space_id
        self._mentioned: dict[str, set[str]] = {}
        for mention in mentions:
            if mention.type == "PERSON" and mention.aliases:
                names = {fold_name(name) for name in (mention.name, *mention.aliases)}
                for name in names:
                    self._mentioned.setdefault(name, set()).update(names)
        self._cached: dict[str, frozenset[str]] = {}

    def find_names(self, name: str) -> frozenset[str]:
        """Return the folded names of the person with a name, including that one."""
        if name == _USER:
            return frozenset((name,))
        if name not in self._cached:
            mentioned = self._mentioned.get(name, {name})
            self._cached[name] = frozenset(mentioned.union(*(self._find_stored(each) for each in mentioned)))
        return self._cached[name]

    def rename_like(self, candidate: Candidate, known: KnownAtom) -> KnownAtom:
        """Return a known atom with the person that both speak of under the name that the candidate uses.

        E.g. "User's sister lives in Oslo" is compared with "Anna moved to Graz" as "Anna lives in Oslo".
        """
        slot = known.slot
        if candidate.slot is not None and slot is not None and slot.subject in self.find_names(candidate.slot.subject):
            slot = replace(slot, subject=candidate.slot.subject)
        text = self._rename_subject(strip_speaker(candidate.text), strip_speaker(known.atom.text))
        if text is not None:
            return replace(known, slot=slot, atom=known.atom.model_copy(update={"text": text}))
        return known if slot is known.slot else replace(known, slot=slot)

    def _rename_subject(self, new: str, old: str) -> str | None:
        """Return the old text with the new one's name for its subject, or None if the names or the persons differ."""
        new_subject, old_subject = _SUBJECT.match(new), _SUBJECT.match(old)
        if new_subject is None or old_subject is None or new_subject[0] == old_subject[0]:
            return None
        name, other = fold_name(new_subject[0]), fold_name(old_subject[0])
        is_same_person = name != _USER and other in self.find_names(name)
        return new_subject[0] + old[old_subject.end() :] if is_same_person else None

    def _find_stored(self, name: str) -> set[str]:
        """Return the names of the entity that a name belongs to in the space."""
        entity_id = entities.find_folded(self._run, self._space_id, "PERSON", name)
        if entity_id is None:
            return set()
        return {fold_name(each) for each in entities.list_names(self._run, entity_id)}


_SUBJECT = re.compile(r"[A-Z]\w*'s (?:best friend|[a-z-]+)(?=[ ,])|[A-Z]\w*(?= [a-z])")
"""The beginning of a sentence about a person: a name, or a relation of somebody."""
