-- Access keys of the server, and metrics: statements of the host over all users.

-- fragment: key_columns
id, name, tenant_id, app_id, access, user_id, rate, created_at, expires_at, revoked_at, last_used_at

-- How many of some closed conversations with messages no enabled binding covers, and how many were looked at.
-- system: a check of the whole database, for its operator
-- name: count_unbound_conversations
SELECT COUNT(CASE WHEN NOT EXISTS (
    SELECT 1 FROM bindings
    JOIN binding_members AS member ON member.app_key = bindings.app_key AND member.binding_id = bindings.id
    WHERE bindings.tenant_id = closed.tenant_id AND bindings.app_id = closed.app_id
      AND member.user_id IN (closed.user_id, '*') AND member.namespace IN (closed.namespace, '*')
) THEN 1 END), COUNT(*)
FROM (
    SELECT tenant_id, app_id, user_id, namespace FROM conversations
    WHERE status = 'closed' AND next_sequence > 1
    LIMIT :limit
) AS closed;

-- system: keys belong to the host, which makes one for a user
-- name: insert_access_key
INSERT INTO access_keys (id, name, tenant_id, app_id, access, user_id, digest, rate, created_at, expires_at)
VALUES (:id, :name, :tenant_id, :app_id, :access, :user_id, :digest, :rate, :now, :expires_at)
RETURNING {key_columns};

-- system: a request names its scope by its key, so no scope is known before
-- name: find_access_key
SELECT digest, {key_columns} FROM access_keys WHERE id = :id;

-- system: the host looks at the keys of all its tenants
-- name: list_access_keys
SELECT {key_columns} FROM access_keys
WHERE (tenant_id = :tenant_id OR :tenant_id IS NULL) AND (app_id = :app_id OR :app_id IS NULL)
ORDER BY id;

-- The first revocation counts: an investigation asks for its time.
-- system: the host revokes a key of any user
-- name: revoke_access_key
UPDATE access_keys SET revoked_at = COALESCE(revoked_at, :now) WHERE id = :id
RETURNING {key_columns};

-- The row stays, since the server asks whether a key was ever made. Nothing of the user is left in it.
-- system: the keys of an erased user are revoked
-- name: forget_access_keys
UPDATE access_keys
SET user_id = :erased, name = '', digest = '', revoked_at = COALESCE(revoked_at, :now)
WHERE tenant_id = :tenant_id AND app_id = :app_id AND access = 'user' AND user_id = :user_id
RETURNING id;

-- system: a server without any key may serve one user only
-- name: count_access_keys
SELECT COUNT(*), COUNT(CASE WHEN revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now) THEN 1 END)
FROM access_keys;

-- system: a server asks with each request without a key whether one was made since
-- name: any_access_key
SELECT 1 FROM access_keys LIMIT 1;

-- Several servers may note it at once; the latest counts.
-- system: the use of a key is the host's to know
-- name: note_key_use
UPDATE access_keys SET last_used_at = :now
WHERE id = :id AND (last_used_at IS NULL OR last_used_at < :now);

-- A job that a worker has is due at the end of its lease.
-- system: metrics count the jobs of all users
-- name: queue_by_kind
SELECT kind, COUNT(CASE WHEN due_at <= :now THEN 1 END),
    COUNT(CASE WHEN due_at > :now AND status = 'running' THEN 1 END),
    COUNT(CASE WHEN due_at > :now AND status <> 'running' THEN 1 END), MIN(due_at)
FROM jobs
WHERE due_at IS NOT NULL
GROUP BY kind;

-- system: metrics count the jobs of all users that were given up
-- name: dead_by_kind
SELECT kind, COUNT(*) FROM jobs WHERE status = 'dead' AND finished_at IS NOT NULL GROUP BY kind;

-- From the instant at which a job was due to the one at which its writes could be recalled.
-- system: metrics say how long the jobs of all users waited lately
-- name: recent_lags
SELECT finished_at - created_at FROM jobs
WHERE status = 'succeeded' AND finished_at IS NOT NULL AND finished_at > :since AND kind = :kind
ORDER BY finished_at DESC
LIMIT :limit;

-- name: schema_versions
SELECT version FROM longmind_schema ORDER BY version;

-- system: an operator who has mistyped a user sees those that are called alike
-- name: list_owners
SELECT tenant_id, app_id, user_id FROM spaces
UNION
SELECT tenant_id, app_id, user_id FROM conversations
ORDER BY 1, 2, 3
LIMIT :limit;
