-- Conversations and the ledger. Keys compare as bytes (COLLATE "C"): faster, and safe when the system's locale data changes.
-- Every key of user data begins with scope_id (tenant + app + user, hashed).
CREATE TABLE conversations (
    scope_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    title TEXT,
    session_id TEXT,
    agent_id TEXT,
    status TEXT NOT NULL CHECK (status IN ('open', 'closed')),
    metadata TEXT NOT NULL,
    next_sequence BIGINT NOT NULL,
    -- The turn that rows without a user message of their own belong to, and which answer to it they are part of.
    turn_id TEXT COLLATE "C",
    attempt INTEGER NOT NULL,
    -- 1 when the turn's user message came again and no other answer to it has begun since.
    asked_again INTEGER NOT NULL DEFAULT 0,
    rolling_summary TEXT,
    rolling_summary_until_seq BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    closed_at BIGINT,
    PRIMARY KEY (scope_id, id)
);

CREATE INDEX conversations_newest ON conversations (scope_id, created_at, id);
-- For the sweep of stale conversations: small, and not touched by an append.
CREATE INDEX conversations_open ON conversations (scope_id, id) WHERE status = 'open';

-- The append-only ledger: messages, recorded events and changes. position is the order of commits.
CREATE TABLE events (
    position BIGINT GENERATED ALWAYS AS IDENTITY,
    scope_id TEXT COLLATE "C" NOT NULL,
    event_id TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT,
    client_id TEXT,
    session_id TEXT,
    run_id TEXT,
    graph_id TEXT,
    node_id TEXT,
    timeline_id TEXT COLLATE "C",
    ts BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    stage TEXT,
    text TEXT,
    tags TEXT,
    data TEXT,
    metrics TEXT,
    topic TEXT,
    severity INTEGER NOT NULL DEFAULT 2,
    signal DOUBLE PRECISION NOT NULL DEFAULT 0.0,
    inputs TEXT,
    outputs TEXT,
    version INTEGER NOT NULL DEFAULT 2,
    -- The rest is there when the row belongs to a conversation.
    conversation_id TEXT COLLATE "C",
    sequence BIGINT,
    turn_id TEXT COLLATE "C",
    attempt INTEGER,
    visibility TEXT CHECK (visibility IN ('user', 'internal', 'hidden')),
    content TEXT,
    stop_reason TEXT,
    model TEXT,
    provider TEXT,
    usage TEXT,
    tool_use_id TEXT,
    tool_name TEXT,
    is_error BOOLEAN,
    trace_id TEXT,
    idempotency_key TEXT COLLATE "C",
    fingerprint TEXT,
    PRIMARY KEY (scope_id, event_id)
);

CREATE INDEX events_in_order ON events (position);
CREATE UNIQUE INDEX events_in_conversation ON events (scope_id, conversation_id, sequence) WHERE sequence IS NOT NULL;
CREATE UNIQUE INDEX events_by_key ON events (scope_id, conversation_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
-- Second and later answers to a turn are rare, so the index that finds them is almost empty.
CREATE INDEX events_later_attempts ON events (scope_id, conversation_id, turn_id, attempt) WHERE attempt > 1;

-- The second wall: a statement sees and writes rows of the scope its transaction has set, and none without one.
-- '*' is set by the engine's own work over all scopes; no user's scope_id can be that.
ALTER TABLE conversations ENABLE ROW LEVEL SECURITY;
ALTER TABLE conversations FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON conversations
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE events ENABLE ROW LEVEL SECURITY;
ALTER TABLE events FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON events
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
