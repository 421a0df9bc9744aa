-- Search for events: the rows that an index in memory is made from, and the vectors that are stored for it.

-- fragment: found_by
position, ts, kind, session_id, run_id, tags, text, content, stage, attempt, conversation_id, turn_id

-- What a cache of a timeline compares: the epoch of the user, and how often messages were forgotten.
-- name: state_of_search
SELECT COALESCE((SELECT erasures.epoch FROM erasures WHERE erasures.scope_id = :scope_id), 0), {forgettings};

-- New rows of a timeline after a position, where the ledger has grown by many rows since.
-- name: timeline_rows_after
SELECT {found_by} FROM events
WHERE {came_after} AND (visibility IS NULL OR visibility <> 'hidden')
ORDER BY position
LIMIT :limit;

-- New rows of a timeline after a position, where the ledger has grown by few rows since.
-- name: timeline_rows_lately
SELECT {found_by} FROM events
WHERE {came_lately} AND (visibility IS NULL OR visibility <> 'hidden')
ORDER BY position
LIMIT :limit;

-- Answers to a turn, and rows that led to them, which a later answer has replaced.
-- name: replaced_answers
SELECT position FROM events
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND sequence IS NOT NULL AND turn_id = :turn_id
  AND attempt < :attempt
  AND stage NOT IN ('user', 'system');

-- name: event_vector_spans
SELECT first, last, events FROM event_vectors
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND model = :model
ORDER BY first, last;

-- name: event_vectors_at
SELECT body FROM event_vectors
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND model = :model AND first = :first AND last = :last;

-- Two processes may make the same vectors: the one with more of them wins, and missing ones are made again.
-- name: put_event_vectors
INSERT INTO event_vectors (scope_id, timeline_id, model, first, last, events, body)
VALUES (:scope_id, :timeline_id, :model, :first, :last, :events, :body)
ON CONFLICT (scope_id, timeline_id, model, first, last) DO UPDATE SET events = excluded.events, body = excluded.body
WHERE excluded.events > event_vectors.events;

-- name: drop_event_vectors
DELETE FROM event_vectors
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND model = :model AND first = :first AND last = :last;

-- name: drop_other_event_vectors
DELETE FROM event_vectors WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND model <> :model;
