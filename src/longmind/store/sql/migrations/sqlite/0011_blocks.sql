-- Memory blocks. agent_id is '' for those of the user across all agents. A row without content is of a block that was
-- deleted: it keeps when that was, so that a block made anew is newer than whatever somebody has read of the old one.
CREATE TABLE blocks (
    scope_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    block_type TEXT NOT NULL CHECK (block_type IN ('core', 'archival')),
    id TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    content TEXT,
    -- When each line that is not blank was said or written, as a JSON list of microseconds.
    line_times TEXT NOT NULL,
    written_by TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (scope_id, agent_id, block_type)
) STRICT, WITHOUT ROWID;

-- What a block held before, by the version that it was. shrunk tells that a model has replaced it by less than half.
CREATE TABLE block_revisions (
    scope_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    block_type TEXT NOT NULL,
    version INTEGER NOT NULL,
    content TEXT NOT NULL,
    written_by TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    replaced_at INTEGER NOT NULL,
    shrunk INTEGER NOT NULL,
    PRIMARY KEY (scope_id, agent_id, block_type, version)
) STRICT, WITHOUT ROWID;

-- Whose blocks are updated from conversations, and after how many microseconds of silence. The row of an agent goes
-- before the user's, whose agent_id is ''.
CREATE TABLE sleep_time (
    scope_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    idle INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (scope_id, agent_id)
) STRICT, WITHOUT ROWID;

-- How far sleep-time memory has read a conversation.
ALTER TABLE conversations ADD COLUMN slept_until INTEGER NOT NULL DEFAULT 0;
