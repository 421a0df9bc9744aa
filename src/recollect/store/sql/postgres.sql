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

-- What differs from atom to atom comes as arrays, and what is the same for all in one object: most atoms have much in
-- common, and what is not sent need not be written and read. An array that is NULL has NULL for each. One statement for
-- all, since COPY knows no row-level security. Their revision is 0 until they change: a cache finds new atoms by their
-- positions.
-- name: insert_atoms
INSERT INTO atoms ({new_atom_columns})
SELECT
    :scope_id, :space_id, COALESCE(own.position, same.position), own.id, :tenant_id, :app_id, :user_id,
    COALESCE(own.text, same.text), COALESCE(own.search_context, same.search_context),
    COALESCE(own.speaker, same.speaker), COALESCE(own.category_name, same.category_name),
    COALESCE(own.kind, same.kind), COALESCE(own.importance, same.importance),
    COALESCE(own.confidence, same.confidence), COALESCE(own.valid_from, same.valid_from),
    COALESCE(own.valid_to, same.valid_to), COALESCE(own.valid_to, same.valid_to), 'ACTIVE',
    COALESCE(own.source_conversation_id, same.source_conversation_id),
    COALESCE(own.source_message_ids, same.source_message_ids), COALESCE(own.entity_ids, same.entity_ids),
    COALESCE(own.tags, same.tags), :supersedes, COALESCE(own.origin, same.origin), COALESCE(own.trust, same.trust),
    :session_id, :group, :run_id, :agent_id, COALESCE(own.created_at, same.created_at),
    COALESCE(own.created_at, same.created_at), 0, COALESCE(own.decision, same.decision),
    COALESCE(own.because, same.because), COALESCE(own.precision, same.precision),
    COALESCE(own.extraction_version, same.extraction_version), COALESCE(own.evidence, same.evidence),
    COALESCE(own.slot_subject, same.slot_subject), COALESCE(own.slot_attribute, same.slot_attribute),
    COALESCE(own.slot_value, same.slot_value)
FROM unnest(
    :position::bigint[], :id::text[], :text::text[], :search_context::text[], :speaker::text[],
    :category_name::text[], :kind::text[], :importance::int[], :confidence::float8[], :valid_from::bigint[],
    :valid_to::bigint[], :source_conversation_id::text[], :source_message_ids::text[], :entity_ids::text[],
    :tags::text[], :origin::text[], :trust::text[], :created_at::bigint[], :decision::text[], :because::text[],
    :precision::text[], :extraction_version::text[], :evidence::text[], :slot_subject::text[],
    :slot_attribute::text[], :slot_value::text[]
) AS own (
    position, id, text, search_context, speaker, category_name, kind, importance, confidence, valid_from, valid_to,
    source_conversation_id, source_message_ids, entity_ids, tags, origin, trust, created_at, decision, because,
    precision, extraction_version, evidence, slot_subject, slot_attribute, slot_value
) CROSS JOIN json_to_record(:same::json) AS same (
    position bigint, text text, search_context text, speaker text, category_name text, kind text, importance int,
    confidence float8, valid_from bigint, valid_to bigint, source_conversation_id text, source_message_ids text,
    entity_ids text, tags text, origin text, trust text, created_at bigint, decision text, because text,
    precision text, extraction_version text, evidence text, slot_subject text, slot_attribute text, slot_value text
);

-- Each position is looked up apart: joined to a list the planner would read all of a space that it knows nothing of yet.
-- name: atoms_at
SELECT found.* FROM json_array_elements_text(:positions::json) AS wanted (position)
CROSS JOIN LATERAL (
    SELECT {atom_columns} FROM atoms
    WHERE scope_id = :scope_id AND space_id = :space_id AND atoms.position = wanted.position::bigint
    OFFSET 0
) AS found;

-- name: atom_texts_at
SELECT position, text, search_context FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id
  AND position = ANY (ARRAY(SELECT value::bigint FROM json_array_elements_text(:positions::json)));

-- The end that each atom was given at first, before it was superseded.
-- name: first_ends_at
SELECT position, open_until FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id
  AND position = ANY (ARRAY(SELECT value::bigint FROM json_array_elements_text(:positions::json)));

-- name: entities_named_any
SELECT DISTINCT entity_id FROM entity_names
WHERE scope_id = :scope_id AND space_id = :space_id
  AND folded = ANY (ARRAY(SELECT value FROM json_array_elements_text(:names::json)))
ORDER BY entity_id;

-- name: tombstones_of
SELECT hash, fact FROM tombstones
WHERE scope_id = :scope_id AND space_id = :space_id
  AND hash = ANY (ARRAY(SELECT value FROM json_array_elements_text(:hashes::json)));

-- name: message_times
SELECT event_id, ts FROM events WHERE scope_id = :scope_id AND event_id = ANY (ARRAY(SELECT value FROM json_array_elements_text(:ids::json)));
