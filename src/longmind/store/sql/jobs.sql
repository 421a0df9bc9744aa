-- The queue of jobs.

-- fragment: job_columns
id, kind, status, payload, result, error, attempts, max_attempts, unique_key, due_at, created_at, updated_at,
finished_at

-- name: insert_job
INSERT INTO jobs (
    scope_id, id, tenant_id, app_id, user_id, kind, status, payload, attempts, max_attempts, unique_key,
    fencing_token, epoch, due_at, created_at, updated_at
) VALUES (
    :scope_id, :id, :tenant_id, :app_id, :user_id, :kind, 'queued', :payload, 0, :max_attempts, :unique_key,
    0, COALESCE((SELECT epoch FROM erasures WHERE scope_id = :scope_id), 0), {due}, :now, :now
)
ON CONFLICT (scope_id, kind, unique_key) WHERE unique_key IS NOT NULL DO NOTHING
RETURNING {job_columns};

-- name: job_by_key
SELECT {job_columns} FROM jobs WHERE scope_id = :scope_id AND kind = :kind AND unique_key = :unique_key;

-- name: get_job
SELECT {job_columns} FROM jobs WHERE scope_id = :scope_id AND id = :id;

-- Newest first. A page begins after the id of the last row before it, and the first page after one beyond all ids.
-- name: list_jobs
SELECT {job_columns} FROM jobs
WHERE scope_id = :scope_id
  AND (status = :status OR :status IS NULL)
  AND (kind = :kind OR :kind IS NULL)
  AND id < :before_id
ORDER BY id DESC
LIMIT :limit;

-- system: the host looks for a job of any user
-- name: job_of_any_scope
SELECT tenant_id, app_id, user_id, {job_columns} FROM jobs
WHERE id = :id AND (status = :status OR :status IS NULL) AND (kind = :kind OR :kind IS NULL);

-- system: the host looks at the jobs of all users, newest first
-- name: jobs_of_all_scopes
SELECT tenant_id, app_id, user_id, {job_columns} FROM jobs
WHERE (status = :status OR :status IS NULL) AND (kind = :kind OR :kind IS NULL)
ORDER BY id DESC
LIMIT :limit;

-- Only a job that no worker has, and that has not succeeded, can be queued again by hand.
-- name: retry_job
UPDATE jobs
SET status = 'queued', attempts = 0, error = NULL, due_at = :now, finished_at = NULL, updated_at = :now
WHERE scope_id = :scope_id AND id = :id AND status IN ('failed', 'dead')
RETURNING {job_columns};

-- A job that is over is needed once more.
-- name: queue_again
UPDATE jobs
SET
    status = 'queued', attempts = 0, payload = :payload, result = NULL, error = NULL, due_at = :now, finished_at = NULL,
    updated_at = :now, epoch = COALESCE((SELECT epoch FROM erasures WHERE scope_id = :scope_id), 0)
WHERE scope_id = :scope_id AND id = :id AND status IN ('succeeded', 'dead')
RETURNING {job_columns};

-- No job has a later epoch than its scope, so this is an equality. Written as a comparison of order, a planner that knows
-- nothing of the rows expects more of them to match, and reads the few that it needs from an index.
-- fragment: of_this_epoch
epoch >= COALESCE((SELECT epoch FROM erasures WHERE erasures.scope_id = jobs.scope_id), 0)

-- system: a worker asks which of its kinds are due, instead of trying to claim one of each
-- name: due_kinds
SELECT wanted.value FROM json_each(:kinds) AS wanted
WHERE EXISTS (
    SELECT 1 FROM jobs
    WHERE jobs.kind = wanted.value AND due_at <= :now
      AND {of_this_epoch}
)
ORDER BY wanted.key;

-- system: a worker takes a job of any scope, those of dead workers included
-- name: claim_jobs
UPDATE jobs
SET status = 'running', attempts = attempts + 1, fencing_token = fencing_token + 1, worker = :worker,
    due_at = {lease_clock} + :lease, updated_at = :now
WHERE (scope_id, id) IN (
    SELECT scope_id, id FROM jobs
    WHERE kind = :kind AND due_at <= :now
      AND {of_this_epoch}
    ORDER BY due_at
    LIMIT 1
)
RETURNING tenant_id, app_id, user_id, fencing_token, epoch, {job_columns};

-- One job, before it is due. One that a worker has is taken only when its lease has run out.
-- name: claim_job
UPDATE jobs
SET status = 'running', attempts = attempts + 1, fencing_token = fencing_token + 1, worker = :worker,
    due_at = {lease_clock} + :lease, updated_at = :now
WHERE scope_id = :scope_id AND id = :id
  AND epoch = COALESCE((SELECT epoch FROM erasures WHERE scope_id = :scope_id), 0)
  AND (status IN ('queued', 'failed') OR (status = 'running' AND due_at <= {lease_clock}))
RETURNING tenant_id, app_id, user_id, fencing_token, epoch, {job_columns};

-- No row comes back when the lease was lost.
-- name: extend_lease
UPDATE jobs SET due_at = {lease_clock} + :lease, updated_at = :now
WHERE scope_id = :scope_id AND id = :id AND fencing_token = :fencing_token AND status = 'running'
RETURNING id;

-- The fence: only the newest claim may finish the job, and only if the scope was not erased since it was queued.
-- name: finish_job
UPDATE jobs
SET status = :status, result = :result, error = :error, due_at = :due_at, finished_at = :finished_at, worker = NULL,
    updated_at = :now
WHERE scope_id = :scope_id AND id = :id AND fencing_token = :fencing_token AND status = 'running'
  AND epoch = COALESCE((SELECT epoch FROM erasures WHERE scope_id = :scope_id), 0)
RETURNING id;

-- The same fence, for a job that was claimed but has to wait.
-- name: put_off_job
UPDATE jobs
SET status = 'queued', attempts = attempts - 1, due_at = :due_at, worker = NULL, updated_at = :now
WHERE scope_id = :scope_id AND id = :id AND fencing_token = :fencing_token AND status = 'running'
  AND epoch = COALESCE((SELECT epoch FROM erasures WHERE scope_id = :scope_id), 0)
RETURNING id;

-- system: jobs of all users wait for the same thing
-- name: hasten_jobs
UPDATE jobs SET due_at = :now, updated_at = :now
WHERE kind = :kind AND status = 'queued' AND due_at > :now AND payload LIKE :named;

-- name: raise_epoch
INSERT INTO erasures (scope_id, epoch) VALUES (:scope_id, 1)
ON CONFLICT (scope_id) DO UPDATE SET epoch = erasures.epoch + 1
RETURNING epoch;
