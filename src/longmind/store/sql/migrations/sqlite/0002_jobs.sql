-- The durable queue. due_at is when a job may next be taken: its time, its retry, or the end of a worker's lease.
CREATE TABLE jobs (
    scope_id TEXT NOT NULL,
    id TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'dead')),
    payload TEXT NOT NULL,
    result TEXT,
    error TEXT,
    attempts INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    unique_key TEXT,
    -- Grows with every claim; a worker whose number is no longer the newest cannot complete the job.
    fencing_token INTEGER NOT NULL,
    worker TEXT,
    -- The erasure count of the scope when the job was queued; a job from before an erasure writes nothing after it.
    epoch INTEGER NOT NULL,
    due_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    finished_at INTEGER,
    PRIMARY KEY (scope_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX jobs_due ON jobs (kind, due_at) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX jobs_by_key ON jobs (scope_id, kind, unique_key) WHERE unique_key IS NOT NULL;

CREATE TABLE erasures (
    scope_id TEXT NOT NULL PRIMARY KEY,
    epoch INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
