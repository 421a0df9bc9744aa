-- What each session of an agent has done with the memory tools of a group.
CREATE TABLE tool_quotas (
    scope_id TEXT COLLATE "C" NOT NULL,
    "group" TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    stores INTEGER NOT NULL,
    supersedes INTEGER NOT NULL,
    deletes INTEGER NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (scope_id, "group", session_id)
);

-- What was asked of the memory tools, one chain of lines for each group: the hash of a line covers the one before it.
CREATE TABLE tool_audit (
    scope_id TEXT COLLATE "C" NOT NULL,
    "group" TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    correlation TEXT COLLATE "C" NOT NULL,
    topic TEXT COLLATE "C" NOT NULL,
    outcome TEXT COLLATE "C" NOT NULL,
    body TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (scope_id, "group", seq)
);

CREATE INDEX tool_audit_of_call ON tool_audit (scope_id, "group", correlation);

-- Where each chain ends, so that lines which are taken away from its end are missed.
CREATE TABLE tool_audit_heads (
    scope_id TEXT COLLATE "C" NOT NULL,
    "group" TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (scope_id, "group")
);

-- Entries of the tools wait here to be purged; what is not one of them costs nothing.
CREATE INDEX atoms_to_purge ON atoms (superseded_at) WHERE origin = 'tool' AND superseded_at IS NOT NULL;

ALTER TABLE tool_quotas ENABLE ROW LEVEL SECURITY;
ALTER TABLE tool_quotas FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON tool_quotas
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE tool_audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE tool_audit FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON tool_audit
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE tool_audit_heads ENABLE ROW LEVEL SECURITY;
ALTER TABLE tool_audit_heads FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON tool_audit_heads
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
