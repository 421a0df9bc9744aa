-- Statements that PostgreSQL needs otherwise.

-- Holds the row until the end of the transaction, so that the answer about an idempotency key stays true.
-- name: lock_conversation
SELECT status FROM conversations WHERE scope_id = :scope_id AND id = :conversation_id FOR UPDATE;

-- Held until the end of the transaction by all writes behind a fence; an erasure takes the same lock exclusively.
-- name: hold_epoch
SELECT pg_advisory_xact_lock_shared(hashtextextended(:scope_id, 0));

-- The file of each table: another one once the table was rewritten.
-- name: table_files
SELECT relname::text, pg_relation_filenode(oid)::bigint FROM pg_class
WHERE relnamespace = 'longmind'::regnamespace AND relkind = 'r'
ORDER BY relname;

-- name: table_columns
SELECT column_name::text, data_type::text FROM information_schema.columns
WHERE table_schema = 'longmind' AND table_name = :table
ORDER BY ordinal_position;

-- A job that is due at once by the clock of the machine that queues it is due at once for everybody.
-- fragment: due
CASE WHEN CAST(:due_at AS BIGINT) <= :now THEN LEAST(:due_at, {lease_clock}) ELSE :due_at END

-- Leases go by the server's clock alone. The clock of one machine may be minutes off, which would let it take every job
-- from the others, or never keep one.
-- fragment: lease_clock
CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS BIGINT)

-- system: a worker asks which of its kinds are due, instead of trying to claim one of each
-- name: due_kinds
SELECT wanted.kind FROM json_array_elements_text(:kinds::json) WITH ORDINALITY AS wanted (kind, turn)
WHERE EXISTS (
    SELECT 1 FROM jobs
    WHERE jobs.kind = wanted.kind AND due_at <= GREATEST(:now, {lease_clock})
      AND due_at <= CASE status WHEN 'running' THEN {lease_clock} ELSE :now END
      AND {of_this_epoch}
)
ORDER BY wanted.turn;

-- system: a worker takes jobs of all scopes, those of dead workers included
-- The job is chosen in a statement of its own, so that no plan can choose again, and more than one, for each row it reads.
-- The limit stands in the text for the planner to see: it would sort the whole queue for each claim otherwise.
-- name: claim_jobs
WITH due AS MATERIALIZED (
    SELECT scope_id, id FROM jobs
    WHERE kind = :kind AND due_at <= GREATEST(:now, {lease_clock})
      AND due_at <= CASE status WHEN 'running' THEN {lease_clock} ELSE :now END
      AND {of_this_epoch}
    ORDER BY due_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
UPDATE jobs
SET status = 'running', attempts = attempts + 1, fencing_token = fencing_token + 1, worker = :worker,
    due_at = {lease_clock} + :lease, updated_at = :now
WHERE (scope_id, id) IN (SELECT scope_id, id FROM due)
RETURNING tenant_id, app_id, user_id, fencing_token, epoch, {job_columns};

-- system: transactions that may still fill a gap in the ledger. Each takes this lock before a position, and releases it
-- after its commit is visible. An append takes that of conversations before it looks whether a job waits for its message. Transaction ids would not do: the xmax of a snapshot is beyond those that have ended, not
-- beyond those that are running.
-- name: ledger_writers
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND mode = 'RowExclusiveLock'
  AND relation IN ('events'::regclass, 'conversations'::regclass)
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- A single atom: unpacking the arrays and the object of the next statement takes longer than inserting a row.
-- name: insert_atom
INSERT INTO atoms ({new_atom_columns}) VALUES ({new_atom_values});

-- Columns that differ come as arrays, and columns that are the same for all in one object: most atoms have much in common,
-- and values that are not sent need not be written and parsed. A NULL array stands for NULL in every row. It is one
-- statement, since COPY ignores row-level security. The revision is 0 until an atom changes: a cache finds new atoms by
-- their positions.
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
    COALESCE(own.tags, same.tags), COALESCE(own.metadata, same.metadata), COALESCE(own.key, same.key),
    COALESCE(own.text_hash, same.text_hash), :supersedes, COALESCE(own.origin, same.origin), COALESCE(own.trust, same.trust),
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
    :slot_attribute::text[], :slot_value::text[], :metadata::text[], :key::text[], :text_hash::bigint[]
) AS own (
    position, id, text, search_context, speaker, category_name, kind, importance, confidence, valid_from, valid_to,
    source_conversation_id, source_message_ids, entity_ids, tags, origin, trust, created_at, decision, because,
    precision, extraction_version, evidence, slot_subject, slot_attribute, slot_value, metadata, key, text_hash
) CROSS JOIN json_to_record(:same::json) AS same (
    position bigint, text text, search_context text, speaker text, category_name text, kind text, importance int,
    confidence float8, valid_from bigint, valid_to bigint, source_conversation_id text, source_message_ids text,
    entity_ids text, tags text, origin text, trust text, created_at bigint, decision text, because text,
    precision text, extraction_version text, evidence text, slot_subject text, slot_attribute text, slot_value text,
    metadata text, key text, text_hash bigint
);

-- fragment: has_tags
(:tags::text IS NULL OR tags::jsonb @> :tags::jsonb)

-- fragment: has_metadata
(:metadata::text IS NULL OR NOT EXISTS (
    SELECT 1 FROM jsonb_each(:metadata::jsonb) AS wanted
    WHERE atoms.metadata::jsonb -> wanted.key IS DISTINCT FROM wanted.value
))

-- Each position is looked up by itself: joined to a list, the planner would read all of a space without statistics.
-- name: atoms_at
SELECT found.* FROM json_array_elements_text(:positions::json) AS wanted (position)
CROSS JOIN LATERAL (
    SELECT {atom_columns} FROM atoms
    WHERE scope_id = :scope_id AND space_id = :space_id AND atoms.position = wanted.position::bigint
      AND revision <= :revision
      AND EXISTS (SELECT 1 FROM spaces WHERE scope_id = :scope_id AND id = :space_id AND revision < :next_epoch)
    OFFSET 0
) AS found;

-- name: atom_texts_at
SELECT position, text, search_context FROM atoms
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

-- name: messages_by_id
SELECT {message_columns} FROM events
WHERE scope_id = :scope_id AND event_id = ANY (ARRAY(SELECT value FROM json_array_elements_text(:ids::json)))
  AND sequence IS NOT NULL AND visibility IN ('user', 'internal');

-- Columns that differ come as arrays, and shared ones in one object, as for atoms. Rows are numbered, so that positions
-- are given in the order in which the rows came.
-- name: insert_many_recorded
INSERT INTO events ({recorded_columns})
SELECT
    :scope_id, :tenant_id, :app_id, :user_id, :agent_id, :client_id, :session_id, :run_id, :timeline_id, own.event_id,
    COALESCE(own.graph_id, same.graph_id), COALESCE(own.node_id, same.node_id), COALESCE(own.ts, same.ts),
    COALESCE(own.kind, same.kind), COALESCE(own.stage, same.stage), COALESCE(own.text, same.text),
    COALESCE(own.tags, same.tags), COALESCE(own.data, same.data), COALESCE(own.metrics, same.metrics),
    COALESCE(own.topic, same.topic), COALESCE(own.severity, same.severity), COALESCE(own.signal, same.signal),
    COALESCE(own.inputs, same.inputs), COALESCE(own.outputs, same.outputs), COALESCE(own.embedding, same.embedding),
    COALESCE(own.pii_flags, same.pii_flags), COALESCE(own.state_key, same.state_key),
    COALESCE(own.version, same.version)
FROM unnest(
    :event_id::text[], :graph_id::text[], :node_id::text[], :ts::bigint[], :kind::text[], :stage::text[], :text::text[],
    :tags::text[], :data::text[], :metrics::text[], :topic::text[], :severity::int[], :signal::float8[],
    :inputs::text[], :outputs::text[], :embedding::text[], :pii_flags::text[], :state_key::text[], :version::int[]
) WITH ORDINALITY AS own (
    event_id, graph_id, node_id, ts, kind, stage, text, tags, data, metrics, topic, severity, signal, inputs, outputs,
    embedding, pii_flags, state_key, version, number
) CROSS JOIN json_to_record(:same::json) AS same (
    graph_id text, node_id text, ts bigint, kind text, stage text, text text, tags text, data text, metrics text,
    topic text, severity int, signal float8, inputs text, outputs text, embedding text, pii_flags text, state_key text,
    version int
)
ORDER BY own.number
RETURNING position;

-- fragment: has_all_tags
(:all_tags::text IS NULL OR tags::jsonb @> :all_tags::jsonb)

-- fragment: has_any_tag
(:any_tags::text IS NULL OR EXISTS (
    SELECT 1 FROM jsonb_array_elements_text(tags::jsonb) AS given (tag)
    WHERE given.tag IN (SELECT jsonb_array_elements_text(:any_tags::jsonb))
))

-- Each half is limited to one page: the planner would sort a whole timeline without statistics otherwise.
-- name: newest_events
SELECT * FROM (
    SELECT {event_columns} FROM events
    WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind <> 'chat.turn' AND {in_window}
    ORDER BY ts DESC, position DESC
    LIMIT :limit::bigint + :offset::bigint
) AS recorded
UNION ALL
SELECT * FROM (
    SELECT {event_columns} FROM events
    WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind = 'chat.turn' AND {in_window} AND {still_said}
    ORDER BY ts DESC, position DESC
    LIMIT :limit::bigint + :offset::bigint
) AS said
ORDER BY ts DESC, position DESC
LIMIT :limit::bigint OFFSET :offset::bigint;

-- The transaction that wrote a row: a row that was changed or inserted again, even by hand, has another one.
-- fragment: row_version
xmin

-- Only what is returned is read: a large value that is not asked for is not fetched. A row that is newer than all cached
-- ones comes along at once, so that no second statement has to fetch it.
-- name: hot_log_versions
SELECT event_id, row_version, if_new FROM (
    SELECT * FROM (
        SELECT
            event_id, {row_version} AS row_version, ts, position,
            CASE WHEN position > :known THEN json_build_array({event_columns}) END AS if_new
        FROM events
        WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind <> 'chat.turn' AND ts >= :since
        ORDER BY ts DESC, position DESC
        LIMIT :limit::bigint
    ) AS recorded
    UNION ALL
    SELECT * FROM (
        SELECT
            event_id, {row_version} AS row_version, ts, position,
            CASE WHEN position > :known THEN json_build_array({event_columns}) END AS if_new
        FROM events
        WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind = 'chat.turn' AND ts >= :since
          AND {still_said}
        ORDER BY ts DESC, position DESC
        LIMIT :limit::bigint
    ) AS said
) AS newest
ORDER BY ts DESC, position DESC
LIMIT :limit::bigint;

-- name: hot_log_rows
SELECT * FROM (
    SELECT {row_version} AS row_version, {event_columns} FROM events
    WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind <> 'chat.turn' AND ts >= :since
    ORDER BY ts DESC, position DESC
    LIMIT :limit::bigint
) AS recorded
UNION ALL
SELECT * FROM (
    SELECT {row_version} AS row_version, {event_columns} FROM events
    WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind = 'chat.turn' AND ts >= :since AND {still_said}
    ORDER BY ts DESC, position DESC
    LIMIT :limit::bigint
) AS said
ORDER BY ts DESC, position DESC
LIMIT :limit::bigint;

-- name: hot_log_rows_of
SELECT found.* FROM json_array_elements_text(:ids::json) AS wanted (event_id)
CROSS JOIN LATERAL (
    SELECT {row_version} AS row_version, {event_columns} FROM events
    WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND events.event_id = wanted.event_id
    OFFSET 0
) AS found;

-- The oldest row of the hot log, if it is full. Rows that nobody may see take no place in it.
-- name: hot_log_floor
SELECT * FROM (
    SELECT ts, position FROM events
    WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind <> 'chat.turn' AND ts >= :since
    ORDER BY ts DESC, position DESC
    LIMIT :kept::bigint + 1
) AS recorded
UNION ALL
SELECT * FROM (
    SELECT ts, position FROM events
    WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind = 'chat.turn' AND ts >= :since AND {still_said}
    ORDER BY ts DESC, position DESC
    LIMIT :kept::bigint + 1
) AS said
ORDER BY ts DESC, position DESC
LIMIT 1 OFFSET :kept::bigint;

-- Each position is looked up by itself, for the same reason as those of atoms.
-- name: events_at
SELECT found.* FROM json_array_elements_text(:positions::json) AS wanted (position)
CROSS JOIN LATERAL (
    SELECT {event_columns} FROM events
    WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND events.position = wanted.position::bigint
    OFFSET 0
) AS found;

-- fragment: came_after
scope_id = :scope_id AND timeline_id = :timeline_id AND position > :after

-- fragment: came_lately
scope_id = :scope_id AND timeline_id = :timeline_id AND position > :after

-- system: the newest position that was ever taken, so that a rebuild of the mirror knows what comes before it
-- name: newest_place
SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM events_position_seq;

-- Each position is looked up by itself, for the same reason as those of atoms.
-- name: message_contents_at
SELECT found.* FROM json_array_elements_text(:positions::json) AS wanted (position)
CROSS JOIN LATERAL (
    SELECT events.position, events.content FROM events
    WHERE events.scope_id = :scope_id AND sequence IS NOT NULL AND events.position = wanted.position::bigint
    OFFSET 0
) AS found
ORDER BY found.position;

-- name: quotes_at
SELECT found.* FROM json_array_elements_text(:positions::json) AS wanted (position)
CROSS JOIN LATERAL (
    SELECT events.position, event_id, conversation_id, sequence, stage, ts, content FROM events
    WHERE events.scope_id = :scope_id AND {quotable} AND events.position = wanted.position::bigint
      AND NOT EXISTS (
          SELECT 1 FROM unquotable_messages
          WHERE unquotable_messages.scope_id = :scope_id AND unquotable_messages.message_id = events.event_id
      )
    OFFSET 0
) AS found;

-- name: message_positions
SELECT event_id, position FROM events
WHERE scope_id = :scope_id AND sequence IS NOT NULL
  AND event_id = ANY (ARRAY(SELECT value FROM json_array_elements_text(:ids::json)));

-- A message that is appended at the same time waits for the end of the job, or is seen by it.
-- name: hold_job_payload
SELECT payload FROM jobs WHERE scope_id = :scope_id AND id = :id FOR UPDATE;
