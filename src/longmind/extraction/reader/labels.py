"""The labels that the network of the reader was trained on, in the order of its outputs."""

from __future__ import annotations

from longmind.extraction.candidate import Change
from longmind.models.atom import AtomKind

ATTRIBUTES: tuple[str, ...] = (
    *("name pronouns birthday age home hometown workplace role education language relationship_status").split(),
    *("family_member friend colleague pet possession vehicle diet allergy health medication measurement").split(),
    *("phone email address website account tool tool_version host repository convention decision project").split(),
    *("deadline appointment event_attended travel plan goal habit hobby skill favourite preference dislike").split(),
    *("rule budget income price_paid quantity schedule membership belief problem achievement other").split(),
)
KINDS: tuple[AtomKind, ...] = ("FACT", "PREFERENCE", "RULE", "INTENTION", "EPISODE")
CATEGORIES: tuple[str, ...] = tuple(
    "identity home work family people health food taste rule plan goal project finance possession pet travel "
    "education hobby event".split()
)
CHANGES: tuple[Change, ...] = ("none", "replaces", "corrects", "ends")
HEADS: dict[str, int] = {
    "attribute": len(ATTRIBUTES),
    "kind": len(KINDS),
    "category": len(CATEGORIES),
    "importance": 4,
    "of_user": 2,
    "negated": 2,
    "unsure": 2,
    "change": len(CHANGES),
}
"""The heads of the network, which describe a stretch, with the number of their answers."""
