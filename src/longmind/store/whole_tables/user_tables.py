"""Every table that holds something of a user, and which of its rows are theirs: what export, import and erasure go by.

A table that a migration adds belongs here, or among those that hold nothing of a user; a test sees to it.
"""

from __future__ import annotations

from dataclasses import dataclass

_OF_SCOPE = "scope_id = :scope_id"
_OF_HOST = "1 = 0"
_MADE_BY = "app_key = :app_key AND user_id = :user_id"


@dataclass(frozen=True)
class Place:
    """A table with rows of users."""

    table: str
    key: tuple[str, ...]
    """What tells its rows apart, beside whose they are."""
    whose: str = _OF_SCOPE
    """Which rows are those of a user: the condition that a statement on them has."""
    order: tuple[str, ...] = ()
    """The order in which rows are given and taken, where it says something; else that of the key."""
    numbered_anew: str | None = None
    """A column that the database itself fills when a row is brought in from elsewhere."""
    imported: bool = True

    @property
    def partition(self) -> str:
        """The column that the key begins with."""
        return {_OF_SCOPE: "scope_id", _OF_HOST: "id"}.get(self.whose, "app_key")


# Rows that others are found by go first: who waits for one of them then finds that it is gone.
PLACES: tuple[Place, ...] = (
    Place("conversations", ("id",)),
    Place("spaces", ("id",)),
    Place("blocks", ("agent_id", "block_type")),
    Place("jobs", ("id",)),
    Place("events", ("event_id",), order=("position",), numbered_anew="position"),
    # Made of events by their places, which are others where these are imported: made anew there.
    Place("event_vectors", ("timeline_id", "model", "first", "last"), imported=False),
    # Only the process that runs a turn can end it.
    Place("running_turns", ("conversation_id", "id"), imported=False),
    Place("rolling_summaries", ("conversation_id", "until_sequence")),
    Place("atoms", ("space_id", "position")),
    Place("atom_removals", ("space_id", "atom_id")),
    Place("term_segments", ("space_id", "first")),
    Place("vector_segments", ("space_id", "model", "first")),
    Place("fact_segments", ("space_id", "first")),
    Place("entities", ("id",)),
    Place("entity_names", ("space_id", "folded", "type")),
    Place("atom_entities", ("entity_id", "atom_id")),
    Place("extraction_marks", ("conversation_id", "binding_id", "space_id")),
    Place("tombstones", ("space_id", "hash", "fact")),
    Place("block_revisions", ("agent_id", "block_type", "version")),
    Place("sleep_time", ("agent_id",)),
    Place("tool_quotas", ("group", "session_id")),
    # The audit tells what was done here: it is given out, and not taken in from elsewhere.
    Place("tool_audit", ("group", "seq"), imported=False),
    Place("tool_audit_heads", ("group",), imported=False),
    Place(
        "binding_members",
        ("user_id", "namespace", "binding_id"),
        "app_key = :app_key AND (user_id = :user_id OR binding_id IN "
        "(SELECT id FROM bindings WHERE app_key = :app_key AND user_id = :user_id))",
    ),
    Place("bindings", ("id",), _MADE_BY),
    Place(
        "space_grants", ("space_id", "user_id"), "app_key = :app_key AND (owner_id = :user_id OR user_id = :user_id)"
    ),
)

# What belongs to an app, or to nobody: only a copy of the whole database takes it along.
COPIED: tuple[Place, ...] = (
    *PLACES,
    Place("access_keys", (), _OF_HOST),
    Place("model_spend", ("month",)),
    Place("erasures", ()),
)

NOBODYS = {
    "access_keys": "who may use the server; keys of an erased user are revoked, and nothing of theirs stays in them",
    "erasures": "how often a scope was erased, by its hash: without it a late job could bring back what is gone",
    "model_spend": "what models have cost an app, all of its users together",
    "longmind_schema": "the version of the tables",
}
"""Tables that erasure leaves as they are, and why."""

PLACE_OF = {place.table: place for place in PLACES}
