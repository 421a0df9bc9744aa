"""The accounts of an attack: what must exist and what does, independent of Longmind.

Every possible effect has a name. An acknowledged one must have happened once. One that was requested and never
acknowledged may have happened at most once. No other effect may have happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock


@dataclass
class Accounts:
    """Requested and acknowledged effects, with their answers. Threads may share it."""

    asked: set[str] = field(default_factory=set)
    acknowledged: dict[str, str] = field(default_factory=dict)
    contradictions: list[str] = field(default_factory=list)
    """Answers to a repetition that differ from the first one."""
    _lock: Lock = field(default_factory=Lock)

    def ask(self, name: str) -> None:
        with self._lock:
            self.asked.add(name)

    def acknowledge(self, name: str, answer: str = "") -> None:
        with self._lock:
            self.asked.add(name)
            if self.acknowledged.setdefault(name, answer) != answer:
                self.contradictions.append(f"{name}: {self.acknowledged[name]!r}, then {answer!r}")


def faults(accounts: Accounts, happened: Iterable[str], answers: Mapping[str, str] | None = None) -> list[str]:
    """Return everything that is wrong, in words; an empty list when nothing is.

    `happened` names each effect as often as it is there; `answers` is what stands for those that have an answer.
    """
    counted = Counter(happened)
    wrong = [f"contradicted: {each}" for each in accounts.contradictions]
    wrong += [f"lost: {name}" for name in accounts.acknowledged if not counted[name]]
    wrong += [f"{count} times: {name}" for name, count in counted.items() if count > 1]
    wrong += [f"invented: {name}" for name in counted if name not in accounts.asked]
    for name, stands in (answers or {}).items():
        answer = accounts.acknowledged.get(name)
        if answer is not None and answer != stands:
            wrong.append(f"misreported: {name}: {answer!r} was answered, {stands!r} is stored")
    return wrong
