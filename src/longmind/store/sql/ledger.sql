-- The ledger: rows are appended, and followers read them as changes.

-- name: insert_event
INSERT INTO events (
    scope_id, event_id, tenant_id, app_id, user_id, agent_id, client_id, session_id, run_id, graph_id, node_id,
    timeline_id, ts, kind, stage, tags, data, conversation_id, sequence, turn_id, attempt, visibility, content,
    stop_reason, model, provider, usage, tool_use_id, tool_name, is_error, trace_id, idempotency_key, fingerprint
) VALUES (
    :scope_id, :event_id, :tenant_id, :app_id, :user_id, :agent_id, :client_id, :session_id, :run_id, :graph_id,
    :node_id, :timeline_id, :ts, :kind, :stage, :tags, :data, :conversation_id, :sequence, :turn_id, :attempt,
    :visibility, :content, :stop_reason, :model, :provider, :usage, :tool_use_id, :tool_name, :is_error, :trace_id,
    :idempotency_key, :fingerprint
)
RETURNING position;

-- system: followers read the changes of all scopes, in the order of the ledger
-- name: changes_after
SELECT position, kind, tenant_id, app_id, user_id, conversation_id, event_id, ts, stage, sequence, turn_id, visibility, data,
    timeline_id
FROM events
WHERE position > :after
ORDER BY position
LIMIT :limit;

-- system: the newest position of the ledger, from which a follower may start
-- name: last_position
SELECT COALESCE(MAX(position), 0) FROM events;
