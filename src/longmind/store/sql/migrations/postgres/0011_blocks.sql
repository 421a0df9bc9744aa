-- Memory blocks. agent_id is '' for those of the user across all agents. A row without content is of a block that was
-- deleted: it keeps when that was, so that a block made anew is newer than whatever somebody has read of the old one.
CREATE TABLE blocks (
    scope_id TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    block_type TEXT COLLATE "C" NOT NULL CHECK (block_type IN ('core', 'archival')),
    id TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    content TEXT,
    -- When each line that is not blank was said or written, as a JSON list of microseconds.
    line_times TEXT NOT NULL,
    written_by TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (scope_id, agent_id, block_type)
);

-- What a block held before, by the version that it was. shrunk tells that a model has replaced it by less than half.
CREATE TABLE block_revisions (
    scope_id TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    block_type TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    content TEXT NOT NULL,
    written_by TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    replaced_at BIGINT NOT NULL,
    shrunk INTEGER NOT NULL,
    PRIMARY KEY (scope_id, agent_id, block_type, version)
);

-- Whose blocks are updated from conversations, and after how many microseconds of silence. The row of an agent goes
-- before the user's, whose agent_id is ''.
CREATE TABLE sleep_time (
    scope_id TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    enabled INTEGER NOT NULL,
    idle BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (scope_id, agent_id)
);

-- How far sleep-time memory has read a conversation.
ALTER TABLE conversations ADD COLUMN slept_until BIGINT NOT NULL DEFAULT 0;

ALTER TABLE blocks ENABLE ROW LEVEL SECURITY;
ALTER TABLE blocks FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON blocks
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE block_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE block_revisions FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON block_revisions
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE sleep_time ENABLE ROW LEVEL SECURITY;
ALTER TABLE sleep_time FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON sleep_time
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
