-- The memory tools: quotas of a session, the audit, and the entries of a brief.

-- Counts a call before it is made, and holds the row until the end of the transaction: other calls wait. A transaction that
-- exceeds a limit is rolled back, and then nothing was counted.
-- name: take_quota
INSERT INTO tool_quotas (scope_id, "group", session_id, stores, supersedes, deletes, updated_at)
VALUES (:scope_id, :group, :session_id, :stores, :supersedes, :deletes, :now)
ON CONFLICT (scope_id, "group", session_id) DO UPDATE
SET stores = tool_quotas.stores + excluded.stores, supersedes = tool_quotas.supersedes + excluded.supersedes,
    deletes = tool_quotas.deletes + excluded.deletes, updated_at = excluded.updated_at
RETURNING stores, supersedes, deletes;

-- Holds the end of a chain until the end of the transaction, so that lines follow one another without a gap.
-- name: hold_audit_head
INSERT INTO tool_audit_heads (scope_id, "group", tenant_id, app_id, user_id, seq, hash, seal)
VALUES (:scope_id, :group, :tenant_id, :app_id, :user_id, 0, '', '')
ON CONFLICT (scope_id, "group") DO UPDATE SET seq = tool_audit_heads.seq
RETURNING seq, hash, seal;

-- name: insert_audit
INSERT INTO tool_audit (scope_id, "group", seq, at, correlation, topic, outcome, body, hash)
VALUES (:scope_id, :group, :seq, :at, :correlation, :topic, :outcome, :body, :hash);

-- name: move_audit_head
UPDATE tool_audit_heads SET seq = :seq, hash = :hash, seal = :seal WHERE scope_id = :scope_id AND "group" = :group;

-- fragment: audit_columns
seq, at, correlation, topic, outcome, body, hash

-- name: list_audit
SELECT {audit_columns} FROM tool_audit
WHERE scope_id = :scope_id AND "group" = :group AND seq > :after
  AND (correlation = :correlation OR :correlation IS NULL)
  AND (topic = :topic OR :topic IS NULL)
  AND (outcome = :outcome OR :outcome IS NULL)
  AND (at >= :since OR :since IS NULL)
  AND (at <= :until OR :until IS NULL)
ORDER BY seq
LIMIT :limit;

-- name: audit_head
SELECT seq, hash, seal, anchor_seq, anchor_hash, anchor_file, anchor_digest, anchor_seal
FROM tool_audit_heads WHERE scope_id = :scope_id AND "group" = :group;

-- name: count_audit
SELECT count(*) FROM tool_audit WHERE scope_id = :scope_id AND "group" = :group AND seq <= :last;

-- name: remove_audit
DELETE FROM tool_audit WHERE scope_id = :scope_id AND "group" = :group AND seq <= :last;

-- name: anchor_audit
UPDATE tool_audit_heads
SET anchor_seq = :seq, anchor_hash = :hash, anchor_file = :file, anchor_digest = :digest, anchor_seal = :seal
WHERE scope_id = :scope_id AND "group" = :group;

-- A chain whose head was removed is found by its lines.
-- system: a verification of the audit reads the chains of all users
-- name: audit_chains
SELECT tenant_id, app_id, user_id, "group", scope_id FROM tool_audit_heads
UNION
SELECT NULL, NULL, NULL, "group", scope_id FROM tool_audit
WHERE NOT EXISTS (
    SELECT 1 FROM tool_audit_heads AS heads
    WHERE heads.scope_id = tool_audit.scope_id AND heads."group" = tool_audit."group"
)
ORDER BY 5, 4;

-- The entries of a group that hold now, newest first: those on behaviour, or all others.
-- name: newest_entries
SELECT position, text FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND status = 'ACTIVE' AND superseded_at IS NULL
  AND (valid_to IS NULL OR valid_to > :now)
  AND (CASE WHEN kind IN ('RULE', 'PREFERENCE') THEN 1 ELSE 0 END) = :behavioral
  AND (origin = :origin OR :origin IS NULL)
ORDER BY created_at DESC, position DESC
LIMIT :limit;

-- system: expired entries of all users are purged
-- name: entries_to_purge
SELECT atoms.tenant_id, atoms.app_id, atoms.user_id, atoms.id FROM atoms
JOIN spaces ON spaces.scope_id = atoms.scope_id AND spaces.id = atoms.space_id
WHERE atoms.origin = 'tool' AND atoms.superseded_at IS NOT NULL AND atoms.superseded_at <= :before
  AND atoms."group" IS NOT NULL AND spaces.deleted_at IS NULL
ORDER BY atoms.superseded_at
LIMIT :limit;
