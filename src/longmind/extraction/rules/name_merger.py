"""Which names are one: "Anna", "Anna Berg" and "User's sister" where the text says so."""

from __future__ import annotations

from collections.abc import Iterable

from longmind.extraction.candidate import Mention
from longmind.extraction.rules.names import NameMention
from longmind.models.entity import EntityType, folded_name


class NameMerger:
    """All names of some messages; afterwards each is known under its fullest form, with the others as aliases."""

    def __init__(self, named: Iterable[NameMention]) -> None:
        self._type: dict[str, EntityType] = {}
        self._also: dict[str, dict[str, None]] = {}
        sure: set[str] = set()
        spelled: dict[str, str] = {}
        for each in named:
            name = spelled.setdefault(folded_name(each.name), each.name)
            if name not in self._type or (each.sure and name not in sure):
                self._type[name] = each.type
            if each.sure:
                sure.add(name)
            if each.also is not None:
                self._also.setdefault(name, {})[each.also] = None
        self._spelled = spelled
        self._full = self._fullest()
        self._whose = self._owners()
        self._aliases = self._shorter()

    def mention(self, named: NameMention) -> Mention:
        """The name's own entity, under its fullest name."""
        name = self._spelled.get(folded_name(named.name), named.name)
        name = self._whose.get(name, name)
        full = self._full.get(name, name)
        return Mention(full, self._type.get(full, named.type), self._aliases.get(full, ()))

    def _shorter(self) -> dict[str, tuple[str, ...]]:
        """From each fullest name to the others it goes by."""
        aliases: dict[str, dict[str, None]] = {}
        for short, full in self._full.items():
            aliases.setdefault(full, {})[short] = None
        for name, others in self._also.items():
            full = self._full.get(name, name)
            for also in others:
                aliases.setdefault(full, {})[also] = None
        return {full: tuple(others) for full, others in aliases.items()}

    def _fullest(self) -> dict[str, str]:
        """From the first name to the whole, where only one person has it."""
        wholes: dict[str, list[str]] = {}
        for name, type in self._type.items():
            words = name.split()
            if type == "PERSON" and len(words) > 1 and not name.endswith("'s") and "'s " not in name:
                wholes.setdefault(words[0], []).append(name)
        return {
            short: whole[0]
            for short, whole in wholes.items()
            if len(whole) == 1 and self._type.get(short, "PERSON") == "PERSON" and short in self._type
        }

    def _owners(self) -> dict[str, str]:
        """From "User's sister" to the name, where the text gives only one."""
        names: dict[str, set[str]] = {}
        for name, others in self._also.items():
            for also in others:
                names.setdefault(also, set()).add(self._full.get(name, name))
        ambiguous = {also for also, whom in names.items() if len(whom) > 1}
        for others in self._also.values():
            for also in ambiguous & others.keys():
                del others[also]
        return {also: next(iter(whom)) for also, whom in names.items() if len(whom) == 1}
