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
      AND epoch = COALESCE((SELECT epoch FROM erasures WHERE erasures.scope_id = jobs.scope_id), 0)
    ORDER BY due_at
    LIMIT :limit
    FOR UPDATE SKIP LOCKED
)
UPDATE jobs
SET status = 'running', attempts = attempts + 1, fencing_token = fencing_token + 1, worker = :worker,
    due_at = :lease_until, updated_at = :now
WHERE (scope_id, id) IN (SELECT scope_id, id FROM due)
RETURNING tenant_id, app_id, user_id, fencing_token, {job_columns};

-- system: who may still fill a gap in the ledger. The lock is taken before a place is, and let go after the commit can
-- be seen. Transaction ids would not do: a snapshot's xmax is past those that have ended, not past those that run.
-- name: ledger_writers
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND relation = 'events'::regclass
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- An array is looked up in the index; a subquery would be joined, by reading all of the space.
-- name: atoms_at
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id
  AND position = ANY (ARRAY(SELECT value::bigint FROM json_array_elements_text(:positions::json)));
