-- What PostgreSQL says differently.

-- Holds the row until the end of the transaction, so that a look at an idempotency key stays true.
-- name: lock_conversation
SELECT status FROM conversations WHERE scope_id = :scope_id AND id = :conversation_id FOR UPDATE;

-- system: a worker takes jobs of all scopes, those of dead workers included
-- The jobs are chosen apart, so that no plan can choose again, and more than the limit, for each row it looks at.
-- name: claim_jobs
WITH due AS MATERIALIZED (
    SELECT scope_id, id FROM jobs
    WHERE kind = :kind AND due_at <= :now
    ORDER BY due_at
    LIMIT :limit
    FOR UPDATE SKIP LOCKED
)
UPDATE jobs
SET status = 'running', attempts = attempts + 1, fencing_token = fencing_token + 1, worker = :worker,
    due_at = :lease_until, updated_at = :now
WHERE (scope_id, id) IN (SELECT scope_id, id FROM due)
RETURNING tenant_id, app_id, user_id, fencing_token, {job_columns};

-- system: whether transactions that were running when a gap in the ledger was seen have all ended
-- name: snapshot_bounds
SELECT pg_snapshot_xmin(pg_current_snapshot())::text, pg_snapshot_xmax(pg_current_snapshot())::text;
