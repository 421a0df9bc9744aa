-- The durable queue. due_at is when a job may next be taken: its time, its retry, or the end of a worker's lease.
CREATE TABLE jobs (
    scope_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'dead')),
    payload TEXT NOT NULL,
    result TEXT,
    error TEXT,
    attempts INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    unique_key TEXT COLLATE "C",
    -- Grows with every claim; a worker whose number is no longer the newest cannot complete the job.
    fencing_token BIGINT NOT NULL,
    worker TEXT,
    -- The erasure count of the scope when the job was queued; a job from before an erasure writes nothing after it.
    epoch BIGINT NOT NULL,
    due_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    finished_at BIGINT,
    PRIMARY KEY (scope_id, id)
);

CREATE INDEX jobs_due ON jobs (kind, due_at) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX jobs_by_key ON jobs (scope_id, kind, unique_key) WHERE unique_key IS NOT NULL;

CREATE TABLE erasures (
    scope_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    epoch BIGINT NOT NULL
);

-- The second wall: a statement sees and writes rows of the scope its transaction has set, and none without one.
-- '*' is set by the engine's own work over all scopes; no user's scope_id can be that.
ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE jobs FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON jobs
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE erasures ENABLE ROW LEVEL SECURITY;
ALTER TABLE erasures FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON erasures
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
