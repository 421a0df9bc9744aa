-- Events on timelines. Messages stand in an index of their own: so an append to a conversation pays for one index, and
-- rare events are found by their kind, their topic or their state.

-- fragment: event_columns
position, ts, event_id, kind, timeline_id, stage, text, tags, data, metrics, topic, severity, signal, inputs, outputs,
session_id, run_id, client_id, agent_id, graph_id, node_id, embedding, pii_flags, version, conversation_id, turn_id,
sequence, content

-- The hot log begins at a row, and rows of one instant are told apart by their position.
-- fragment: in_window
ts >= :since AND ts <= :until AND (ts > :since OR position >= :first) AND signal >= :min_signal
  AND (session_id = :session_id OR :session_id IS NULL) AND (run_id = :run_id OR :run_id IS NULL)
  AND {has_all_tags} AND {has_any_tag}

-- Hidden messages are nobody's to see, and an answer that a later one to the same turn replaced does not count.
-- fragment: still_said
(visibility IS NULL OR visibility <> 'hidden') AND (
    attempt IS NULL OR stage IN ('user', 'system')
    OR NOT EXISTS (
        SELECT 1 FROM events AS later
        WHERE later.scope_id = :scope_id AND later.conversation_id = events.conversation_id
          AND later.turn_id = events.turn_id AND later.attempt > 1 AND later.attempt > events.attempt
          AND later.stage = 'assistant' AND later.visibility <> 'hidden'
    )
)

-- fragment: recorded_columns
scope_id, tenant_id, app_id, user_id, agent_id, client_id, session_id, run_id, timeline_id, event_id, graph_id, node_id,
ts, kind, stage, text, tags, data, metrics, topic, severity, signal, inputs, outputs, embedding, pii_flags, state_key,
version

-- The columns that all rows of one context share come first, then those of RECORDED_COLUMNS in their order.
-- fragment: recorded_values
:scope_id, :tenant_id, :app_id, :user_id, :agent_id, :client_id, :session_id, :run_id, :timeline_id, :event_id,
:graph_id, :node_id, :ts, :kind, :stage, :text, :tags, :data, :metrics, :topic, :severity, :signal, :inputs, :outputs,
:embedding, :pii_flags, :state_key, :version

-- name: insert_recorded
INSERT INTO events ({recorded_columns}) VALUES ({recorded_values}) RETURNING position;

-- Both halves come in order from their indexes and are merged, so that no more rows are read than are returned.
-- name: newest_events
SELECT {event_columns} FROM events
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind <> 'chat.turn' AND {in_window}
UNION ALL
SELECT {event_columns} FROM events
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind = 'chat.turn' AND {in_window} AND {still_said}
ORDER BY ts DESC, position DESC
LIMIT :limit OFFSET :offset;

-- name: newest_events_of_kind
SELECT {event_columns} FROM events
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind = :kind AND kind <> 'chat.turn' AND {in_window}
ORDER BY ts DESC, position DESC
LIMIT :limit OFFSET :offset;

-- name: newest_chat
SELECT {event_columns} FROM events
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind = 'chat.turn' AND {in_window} AND {still_said}
  AND (stage IN (:first_role, :second_role, :third_role, :fourth_role) OR :first_role IS NULL)
ORDER BY ts DESC, position DESC
LIMIT :limit OFFSET :offset;

-- name: newest_events_on_topic
SELECT {event_columns} FROM events
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND topic = :topic AND kind = :kind AND {in_window}
ORDER BY ts DESC, position DESC
LIMIT :limit OFFSET :offset;

-- name: newest_states
SELECT {event_columns} FROM events
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND state_key = :state_key AND kind = :kind AND {in_window}
ORDER BY ts DESC, position DESC
LIMIT :limit OFFSET :offset;

-- The oldest row of the hot log, if it is full. Rows that nobody may see take no place in it.
-- name: hot_log_floor
SELECT ts, position FROM events
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind <> 'chat.turn' AND ts >= :since
UNION ALL
SELECT ts, position FROM events
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind = 'chat.turn' AND ts >= :since AND {still_said}
ORDER BY ts DESC, position DESC
LIMIT 1 OFFSET :kept;

-- The versions of the newest rows, without their contents: a cache that has a row of the same version need not fetch it.
-- name: hot_log_versions
SELECT event_id, {row_version} AS row_version, {if_new}, ts, position FROM events
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind <> 'chat.turn' AND ts >= :since
UNION ALL
SELECT event_id, {row_version}, {if_new}, ts, position FROM events
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind = 'chat.turn' AND ts >= :since AND {still_said}
ORDER BY ts DESC, position DESC
LIMIT :limit;

-- name: hot_log_rows
SELECT {row_version} AS row_version, {event_columns} FROM events
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind <> 'chat.turn' AND ts >= :since
UNION ALL
SELECT {row_version}, {event_columns} FROM events
WHERE scope_id = :scope_id AND timeline_id = :timeline_id AND kind = 'chat.turn' AND ts >= :since AND {still_said}
ORDER BY ts DESC, position DESC
LIMIT :limit;

-- A change of the ledger has no timeline, and is no event.
-- name: get_event
SELECT {event_columns} FROM events
WHERE scope_id = :scope_id AND event_id = :event_id AND timeline_id IS NOT NULL
  AND (visibility IS NULL OR visibility <> 'hidden');

-- Counted from the rows themselves: there is no second count that could differ from them, or fail a write.
-- name: usage_by_kind
SELECT kind, COUNT(*) FROM events
WHERE scope_id = :scope_id AND timeline_id IS NOT NULL AND kind <> 'chat.turn' AND ts >= :since
GROUP BY kind
UNION ALL
SELECT 'chat.turn', COUNT(*) FROM events
WHERE scope_id = :scope_id AND timeline_id IS NOT NULL AND kind = 'chat.turn' AND ts >= :since;
