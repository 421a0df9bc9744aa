"""The list of all tables that hold data of users, with the condition that finds a user's rows in each.

Export, import, copy and erasure go by this list alone. A table that a migration adds belongs here, or among those that
an erasure keeps; a test fails if it is in neither.
"""

from __future__ import annotations

from dataclasses import dataclass

_OF_SCOPE = "scope_id = :scope_id"
_OF_HOST = "1 = 0"
_MADE_BY = "app_key = :app_key AND user_id = :user_id"


@dataclass(frozen=True)
class UserTable:
    """A table with rows of users."""

    table: str
    key: tuple[str, ...]
    """The rest of its primary key, after the partition."""
    condition: str = _OF_SCOPE
    """The condition of a statement on the rows of one user."""
    order: tuple[str, ...] = ()
    """The order in which rows are exported and imported, where it matters; otherwise that of the key."""
    generated_column: str | None = None
    """A column that the database fills itself when a row is imported."""
    imported: bool = True

    @property
    def partition(self) -> str:
        """The column that the primary key begins with."""
        return {_OF_SCOPE: "scope_id", _OF_HOST: "id"}.get(self.condition, "app_key")


# Rows that other transactions look up first go first: one that waits for such a row then finds it gone.
USER_TABLES: tuple[UserTable, ...] = (
    UserTable("conversations", ("id",)),
    UserTable("spaces", ("id",)),
    UserTable("blocks", ("agent_id", "block_type")),
    UserTable("jobs", ("id",)),
    UserTable("events", ("event_id",), order=("position",), generated_column="position"),
    # They refer to events by position, and imported events get other positions: vectors are made again there.
    UserTable("event_vectors", ("timeline_id", "model", "first", "last"), imported=False),
    # The same goes for passages. The messages that must not be quoted are named by their ids, which stay.
    UserTable("passage_segments", ("model", "first", "last"), imported=False),
    UserTable("unquotable_messages", ("message_id",)),
    # Only the process that runs a turn can end it, and that process is elsewhere.
    UserTable("running_turns", ("conversation_id", "id"), imported=False),
    UserTable("rolling_summaries", ("conversation_id", "until_sequence")),
    UserTable("atoms", ("space_id", "position")),
    UserTable("atom_removals", ("space_id", "atom_id")),
    UserTable("decisions", ("id",)),
    UserTable("decision_atoms", ("decision_id", "atom_id")),
    UserTable("term_segments", ("space_id", "first")),
    UserTable("vector_segments", ("space_id", "model", "first")),
    UserTable("fact_segments", ("space_id", "first")),
    UserTable("entities", ("id",)),
    UserTable("entity_names", ("space_id", "folded", "type")),
    UserTable("atom_entities", ("entity_id", "atom_id")),
    UserTable("extraction_marks", ("conversation_id", "binding_id", "space_id")),
    UserTable("tombstones", ("space_id", "hash", "fact")),
    UserTable("block_revisions", ("agent_id", "block_type", "version")),
    UserTable("sleep_time", ("agent_id",)),
    UserTable("tool_quotas", ("group", "session_id")),
    # The audit says what was done here: it is exported, and never imported from elsewhere.
    UserTable("tool_audit", ("group", "seq"), imported=False),
    UserTable("tool_audit_heads", ("group",), imported=False),
    UserTable(
        "binding_members",
        ("user_id", "namespace", "binding_id"),
        "app_key = :app_key AND (user_id = :user_id OR binding_id IN "
        "(SELECT id FROM bindings WHERE app_key = :app_key AND user_id = :user_id))",
    ),
    UserTable("bindings", ("id",), _MADE_BY),
    UserTable(
        "space_grants", ("space_id", "user_id"), "app_key = :app_key AND (owner_id = :user_id OR user_id = :user_id)"
    ),
)

# Tables of an app or of the host come along in a copy of the whole database only.
COPIED_TABLES: tuple[UserTable, ...] = (
    *USER_TABLES,
    UserTable("access_keys", (), _OF_HOST),
    UserTable("model_spend", ("month",)),
    UserTable("erasures", ()),
    UserTable("passage_revisions", ()),
    UserTable("binding_revisions", (), "app_key = :app_key"),
    UserTable("agents", ("name",), "app_key = :app_key"),
)

KEPT_TABLES = {
    "access_keys": "API keys of the server; those of an erased user are revoked and keep none of the user's data",
    "erasures": "number of erasures by hash of the scope: it keeps late jobs from writing erased data again",
    "passage_revisions": "number of changes by hash of the scope: it tells caches that the data is gone",
    "agents": "agents of an app, which its administrators define and all of its users invoke",
    "binding_revisions": "number of changes to the bindings of an app",
    "model_spend": "model costs of an app, summed over its users",
    "longmind_schema": "version of the tables",
}
"""Tables that an erasure leaves as they are, and why."""

USER_TABLE_BY_NAME = {place.table: place for place in USER_TABLES}

TENANT_TABLES = {"tenant_blocks": "blocks", "tenant_block_revisions": "block_revisions"}
"""The tables of which rows may belong to the user in the whole tenant, each by its name in exports and receipts."""
