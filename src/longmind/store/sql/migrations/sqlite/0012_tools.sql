-- What each session of an agent has done with the memory tools of a group.
CREATE TABLE tool_quotas (
    scope_id TEXT NOT NULL,
    "group" TEXT NOT NULL,
    session_id TEXT NOT NULL,
    stores INTEGER NOT NULL,
    supersedes INTEGER NOT NULL,
    deletes INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (scope_id, "group", session_id)
) STRICT, WITHOUT ROWID;

-- What was asked of the memory tools, one chain of lines for each group: the hash of a line covers the one before it.
CREATE TABLE tool_audit (
    scope_id TEXT NOT NULL,
    "group" TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    correlation TEXT NOT NULL,
    topic TEXT NOT NULL,
    outcome TEXT NOT NULL,
    body TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (scope_id, "group", seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX tool_audit_of_call ON tool_audit (scope_id, "group", correlation);

-- Where each chain ends, so that lines which are taken away from its end are missed.
CREATE TABLE tool_audit_heads (
    scope_id TEXT NOT NULL,
    "group" TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (scope_id, "group")
) STRICT, WITHOUT ROWID;

-- Entries of the tools wait here to be purged; what is not one of them costs nothing.
CREATE INDEX atoms_to_purge ON atoms (superseded_at) WHERE origin = 'tool' AND superseded_at IS NOT NULL;
