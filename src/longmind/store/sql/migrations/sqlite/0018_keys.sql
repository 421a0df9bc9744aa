-- Who may use the server, and as whom. A row belongs to the host, not to the user it names: no scope sees it.
CREATE TABLE access_keys (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    access TEXT NOT NULL CHECK (access IN ('user', 'any-user', 'admin')),
    user_id TEXT CHECK ((user_id IS NOT NULL) = (access = 'user')),
    -- Of the whole key. It has 256 random bits, so a fast hash is enough, and nobody can go back from it.
    digest TEXT NOT NULL,
    rate TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;

-- What has ended, by how and when: for the metrics, which look at the last minutes and count what was given up.
CREATE INDEX jobs_finished ON jobs (status, finished_at) WHERE finished_at IS NOT NULL;
