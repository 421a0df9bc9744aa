"""The values that an attribute has had, such as the homes of the user."""

from __future__ import annotations

from functools import partial

from longmind.extraction.slot_types import ABOUT
from longmind.memory.service_base import MemoryBase
from longmind.models.atom import Atom
from longmind.models.entity import fold_name
from longmind.store.database import Transaction
from longmind.store.tables import atoms as store
from longmind.store.tables import spaces
from longmind.validation.parameter_limits import LIMIT, NAME, Limit, Name, SpaceId

USER = "user"
"""The subject of facts about the user."""


class AttributeHistory(MemoryBase):
    """The changes of single attributes."""

    def get_history(
        self, memory_space_id: SpaceId, attribute: Name, *, subject: Name = USER, limit: Limit = 100
    ) -> list[Atom]:
        """Get the values that an attribute has had, oldest first; one that nothing is known about has none.

        memory_space_id: the id or the name of a space.
        attribute: words such as `home`, `phone number` or `favourite colour`; all attributes that have these words.
        subject: the name of another person or thing, by default the user.
        limit: from 1 to 10,000, of the newest values.

        Only facts that extraction has learned name their attribute. Newer versions of them belong to the history too.
        """
        words = _list_words(NAME.check("attribute", attribute))
        read = partial(
            _read,
            words=words,
            subject=fold_name(NAME.check("subject", subject)),
            limit=LIMIT.check("limit", limit),
            space_id=(space_id := self._find_space(memory_space_id)),
        )
        return self._read_space(space_id, lambda scope: self._database.read(scope, read))


def _read(run: Transaction, space_id: str, words: frozenset[object], subject: str, limit: int) -> list[Atom]:
    spaces.require(run, space_id)
    found: dict[str, Atom] = {}
    for owner, attribute in store.list_slots(run, space_id):
        if owner == subject and words.issubset(_list_words(attribute)):
            found |= {atom.id: atom for atom in store.list_in_slot(run, space_id, owner, attribute, limit)}
    # A version that the app has written does not say which attribute it is a value of.
    for atom in list(found.values()):
        newer = atom.superseded_by
        while newer is not None and newer not in found:
            version = store.get(run, newer)
            if version is None or version.status != "ACTIVE":
                break
            found[newer] = version
            newer = version.superseded_by
    return sorted(found.values(), key=_find_place_in_time)[-limit:]


def _find_place_in_time(atom: Atom) -> tuple[str, str]:
    # A value may begin in the past and so end one that was stated earlier; that one stays before it.
    return min(atom.valid_from, atom.valid_to or atom.valid_from), atom.id


def _list_words(attribute: str) -> frozenset[object]:
    """Return the words of an attribute in the form in which they are compared."""
    # Imported on use, since the stemmer should not be loaded with the package.
    from longmind.language.words import terms_of

    plain = fold_name(attribute).removeprefix(ABOUT).replace("_", " ").replace("avourite", "avorite")
    return frozenset(terms_of(plain.replace("colour", "color"))) or frozenset(plain.split())
