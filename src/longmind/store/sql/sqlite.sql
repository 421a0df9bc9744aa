-- Statements that SQLite needs otherwise.

-- A write transaction of SQLite is alone already, so reading the row is enough to hold it.
-- name: lock_conversation
SELECT status FROM conversations WHERE scope_id = :scope_id AND id = :conversation_id;

-- Reading is enough to hold the epoch too.
-- name: hold_epoch
SELECT epoch FROM erasures WHERE scope_id = :scope_id;

-- All processes that share a file are on one machine, and go by its clock.
-- fragment: lease_clock
:now

-- A job that is due at once by the clock of the machine that queues it is due at once for everybody.
-- fragment: due
:due_at

-- One file has all tables, so none is listed.
-- name: table_files
SELECT name, 0 FROM sqlite_master WHERE name IS NULL;

-- name: table_columns
SELECT name, lower(type) FROM pragma_table_info(:table) ORDER BY cid;

-- fragment: has_tags
(:tags IS NULL OR NOT EXISTS (
    SELECT 1 FROM json_each(:tags) AS wanted WHERE wanted.value NOT IN (SELECT value FROM json_each(atoms.tags))
))

-- Numbers are equal by their values. Truth values are of other types, although they have the values 1 and 0.
-- fragment: has_metadata
(:metadata IS NULL OR NOT EXISTS (
    SELECT 1 FROM json_each(:metadata) AS wanted
    WHERE NOT EXISTS (
        SELECT 1 FROM json_each(atoms.metadata) AS held
        WHERE held.key = wanted.key AND held.value IS wanted.value
          AND (held.type = wanted.type OR (held.type IN ('integer', 'real') AND wanted.type IN ('integer', 'real')))
    )
))

-- name: atoms_at
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND position IN (SELECT value FROM json_each(:positions))
  AND revision <= :revision
  AND EXISTS (SELECT 1 FROM spaces WHERE scope_id = :scope_id AND id = :space_id AND revision < :next_epoch);

-- name: atom_texts_at
SELECT position, text, search_context FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND position IN (SELECT value FROM json_each(:positions));

-- Run for each atom.
-- name: insert_atoms
INSERT INTO atoms ({new_atom_columns}) VALUES ({new_atom_values});

-- name: entities_named_any
SELECT DISTINCT entity_id FROM entity_names
WHERE scope_id = :scope_id AND space_id = :space_id AND folded IN (SELECT value FROM json_each(:names))
ORDER BY entity_id;

-- name: tombstones_of
SELECT hash, fact FROM tombstones
WHERE scope_id = :scope_id AND space_id = :space_id AND hash IN (SELECT value FROM json_each(:hashes));

-- name: message_times
SELECT event_id, ts FROM events WHERE scope_id = :scope_id AND event_id IN (SELECT value FROM json_each(:ids));

-- name: messages_by_id
SELECT {message_columns} FROM events
WHERE scope_id = :scope_id AND event_id IN (SELECT value FROM json_each(:ids))
  AND sequence IS NOT NULL AND visibility IN ('user', 'internal');

-- Run for each event.
-- name: insert_many_recorded
INSERT INTO events ({recorded_columns}) VALUES ({recorded_values});

-- fragment: has_all_tags
(:all_tags IS NULL OR NOT EXISTS (
    SELECT 1 FROM json_each(:all_tags) AS wanted WHERE wanted.value NOT IN (SELECT value FROM json_each(events.tags))
))

-- fragment: has_any_tag
(:any_tags IS NULL OR EXISTS (
    SELECT 1 FROM json_each(:any_tags) AS wanted WHERE wanted.value IN (SELECT value FROM json_each(events.tags))
))

-- By positions alone; a plus keeps other indexes out of the plan.
-- name: events_at
SELECT {event_columns} FROM events
WHERE +scope_id = :scope_id AND +timeline_id = :timeline_id
  AND position IN (SELECT value FROM json_each(:positions));

-- No row of a timeline is ever changed. A row of the same id can only come again after the user was erased.
-- fragment: row_version
(SELECT epoch FROM erasures WHERE scope_id = :scope_id)

-- A second statement takes next to nothing here, so no row comes along with the versions.
-- fragment: if_new
CASE WHEN position > :known THEN NULL END

-- By ids alone; a plus keeps other indexes out of the plan.
-- name: hot_log_rows_of
SELECT {row_version} AS row_version, {event_columns} FROM events
WHERE scope_id = :scope_id AND +timeline_id = :timeline_id AND event_id IN (SELECT value FROM json_each(:ids));

-- The positions are read from two indexes alone, which hold them all, and then the few rows by their positions.
-- fragment: came_after
scope_id = :scope_id AND position IN (
    SELECT position FROM events
    WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind = 'chat.turn' AND position > :after
    UNION ALL
    SELECT position FROM events
    WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind <> 'chat.turn' AND position > :after
    ORDER BY position LIMIT :limit
)

-- All new rows of the ledger are read, one after the other.
-- fragment: came_lately
position > :after AND +scope_id = :scope_id AND +timeline_id = :timeline_id

-- system: the newest position that was ever taken, so that a rebuild of the mirror knows what comes before it
-- name: newest_place
SELECT seq FROM sqlite_sequence WHERE name = 'events';

-- By positions alone; a plus keeps other indexes out of the plan.
-- name: message_contents_at
SELECT position, content FROM events
WHERE +scope_id = :scope_id AND sequence IS NOT NULL AND position IN (SELECT value FROM json_each(:positions))
ORDER BY position;

-- name: quotes_at
SELECT position, event_id, conversation_id, sequence, stage, ts, content FROM events
WHERE +scope_id = :scope_id AND {quotable} AND position IN (SELECT value FROM json_each(:positions))
  AND NOT EXISTS (
      SELECT 1 FROM unquotable_messages
      WHERE unquotable_messages.scope_id = :scope_id AND unquotable_messages.message_id = events.event_id
  );

-- name: message_positions
SELECT event_id, position FROM events
WHERE scope_id = :scope_id AND sequence IS NOT NULL AND event_id IN (SELECT value FROM json_each(:ids));

-- Reading is enough to hold a job too.
-- name: hold_job_payload
SELECT payload FROM jobs WHERE scope_id = :scope_id AND id = :id;
