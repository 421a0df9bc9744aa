"""Names that stand for one person: "Anna", "Anna Berg" and "User's sister" where the text says so."""

from __future__ import annotations

from collections.abc import Iterable

from longmind.extraction.candidate import Mention
from longmind.extraction.rules.names import NameMention
from longmind.models.entity import EntityType, fold_name


class NameMerger:
    """The names in some messages, each under its fullest form with the others as aliases.

    Names are merged only where the messages leave no doubt: "Anna" is not "Anna Berg" if there is an "Anna Moe".
    """

    def __init__(self, names: Iterable[NameMention]) -> None:
        self._type: dict[str, EntityType] = {}
        self._others: dict[str, dict[str, None]] = {}
        sure: set[str] = set()
        spelling: dict[str, str] = {}
        for each in names:
            name = spelling.setdefault(fold_name(each.name), each.name)
            if name not in self._type or (each.is_sure and name not in sure):
                self._type[name] = each.type
            if each.is_sure:
                sure.add(name)
            if each.other_name is not None:
                self._others.setdefault(name, {})[each.other_name] = None
        self._spelling = spelling
        self._full = self._find_full_names()
        self._name_of_role = self._find_role_names()
        self._aliases = self._collect_aliases()

    def to_mention(self, found: NameMention) -> Mention:
        """Return the entity of a name, under its fullest name."""
        name = self._spelling.get(fold_name(found.name), found.name)
        name = self._name_of_role.get(name, name)
        full = self._full.get(name, name)
        return Mention(full, self._type.get(full, found.type), self._aliases.get(full, ()))

    def _collect_aliases(self) -> dict[str, tuple[str, ...]]:
        """Return the other names of each full name."""
        aliases: dict[str, dict[str, None]] = {}
        for short, full in self._full.items():
            aliases.setdefault(full, {})[short] = None
        for name, others in self._others.items():
            full = self._full.get(name, name)
            for other in others:
                aliases.setdefault(full, {})[other] = None
        return {full: tuple(others) for full, others in aliases.items()}

    def _find_full_names(self) -> dict[str, str]:
        """Return the full name for each first name that only one person has."""
        full_names: dict[str, list[str]] = {}
        for name, type in self._type.items():
            words = name.split()
            if type == "PERSON" and len(words) > 1 and not name.endswith("'s") and "'s " not in name:
                full_names.setdefault(words[0], []).append(name)
        return {
            first: names[0]
            for first, names in full_names.items()
            if len(names) == 1 and self._type.get(first, "PERSON") == "PERSON" and first in self._type
        }

    def _find_role_names(self) -> dict[str, str]:
        """Return the name for each role such as "User's sister" that only one person has.

        A role that several persons have is dropped from their other names.
        """
        names: dict[str, set[str]] = {}
        for name, others in self._others.items():
            for role in others:
                names.setdefault(role, set()).add(self._full.get(name, name))
        ambiguous = {role for role, holders in names.items() if len(holders) > 1}
        for others in self._others.values():
            for role in ambiguous & others.keys():
                del others[role]
        return {role: next(iter(holders)) for role, holders in names.items() if len(holders) == 1}
