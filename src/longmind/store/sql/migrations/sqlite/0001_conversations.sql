-- Conversations and the ledger. Every key of user data begins with scope_id (tenant + app + user, hashed).
CREATE TABLE conversations (
    scope_id TEXT NOT NULL,
    id TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    title TEXT,
    session_id TEXT,
    agent_id TEXT,
    status TEXT NOT NULL CHECK (status IN ('open', 'closed')),
    metadata TEXT NOT NULL,
    next_sequence INTEGER NOT NULL,
    -- The turn that rows without a user message of their own belong to, and which answer to it they are part of.
    turn_id TEXT,
    attempt INTEGER NOT NULL,
    -- 1 when the turn's user message came again and no other answer to it has begun since.
    asked_again INTEGER NOT NULL DEFAULT 0,
    rolling_summary TEXT,
    rolling_summary_until_seq INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    closed_at INTEGER,
    PRIMARY KEY (scope_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX conversations_newest ON conversations (scope_id, created_at, id);
-- For the sweep of stale conversations: small, and not touched by an append.
CREATE INDEX conversations_open ON conversations (scope_id, id) WHERE status = 'open';

-- The append-only ledger: messages, recorded events and changes. position is the order of commits.
CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    scope_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT,
    client_id TEXT,
    session_id TEXT,
    run_id TEXT,
    graph_id TEXT,
    node_id TEXT,
    timeline_id TEXT,
    ts INTEGER NOT NULL,
    kind TEXT NOT NULL,
    stage TEXT,
    text TEXT,
    tags TEXT,
    data TEXT,
    metrics TEXT,
    topic TEXT,
    severity INTEGER NOT NULL DEFAULT 2,
    signal REAL NOT NULL DEFAULT 0.0,
    inputs TEXT,
    outputs TEXT,
    version INTEGER NOT NULL DEFAULT 2,
    -- The rest is there when the row belongs to a conversation.
    conversation_id TEXT,
    sequence INTEGER,
    turn_id TEXT,
    attempt INTEGER,
    visibility TEXT CHECK (visibility IN ('user', 'internal', 'hidden')),
    content TEXT,
    stop_reason TEXT,
    model TEXT,
    provider TEXT,
    usage TEXT,
    tool_use_id TEXT,
    tool_name TEXT,
    is_error INTEGER,
    trace_id TEXT,
    idempotency_key TEXT,
    fingerprint TEXT
) STRICT;

CREATE UNIQUE INDEX events_by_id ON events (scope_id, event_id);
CREATE UNIQUE INDEX events_in_conversation ON events (scope_id, conversation_id, sequence) WHERE sequence IS NOT NULL;
CREATE UNIQUE INDEX events_by_key ON events (scope_id, conversation_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
-- Second and later answers to a turn are rare, so the index that finds them is almost empty.
CREATE INDEX events_later_attempts ON events (scope_id, conversation_id, turn_id, attempt) WHERE attempt > 1;
