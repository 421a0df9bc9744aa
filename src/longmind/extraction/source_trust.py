"""Rules of trust: whose word a candidate is, and what each role may say, confirm or replace.

The user's word counts most, then the app's; an assistant and a tool count least, since they may repeat what somebody
talked them into. Nobody but the user, or the app itself, may say how an agent is to behave.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from longmind.models.atom import BEHAVIORAL_KINDS, AtomKind, Trust

_RANK: dict[Trust, int] = {"user": 2, "app": 1, "assistant": 0, "tool": 0}
_LEAST_TRUSTED_LAST: tuple[Trust, ...] = ("user", "assistant", "tool")


def rank_trust(trust: Trust) -> int:
    """Return how much a word counts; an assistant and a tool count alike."""
    return _RANK[trust]


def find_trust(claimed: str, roles: Collection[str]) -> Trust:
    """Return whose word a candidate is.

    claimed: the trust that the extractor gave; it holds only if one of the sources has that role.
    roles: the roles of the messages that the candidate rests on.
    """
    for role in _LEAST_TRUSTED_LAST:
        if role == claimed and role in roles:
            return role
    return "tool" if set(roles) == {"tool"} else "assistant" if "user" not in roles else "user"


def find_least_trusted(roles: Iterable[Trust]) -> Trust:
    """Return the role that counts least: a fact that rests on several messages is no surer than its weakest source."""
    return max(roles, key=_LEAST_TRUSTED_LAST.index)


def may_say_kind(trust: Trust, kind: AtomKind) -> bool:
    """Return whether a role may give a memory of this kind; assistants and tools may give no rules or preferences."""
    return kind not in BEHAVIORAL_KINDS or trust not in ("assistant", "tool")


def may_replace(trust: Trust, old_trust: Trust, *, old_is_behavioral: bool) -> bool:
    """Return whether a fact of one trust may replace a fact of another.

    An assistant may replace only what an assistant said, and a tool only what a tool said.
    """
    if trust in ("assistant", "tool"):
        return trust == old_trust and not old_is_behavioral
    return _RANK[trust] >= _RANK[old_trust]
