-- What SQLite says differently.

-- A write transaction of SQLite is alone already, so reading the row is enough to hold it.
-- name: lock_conversation
SELECT status FROM conversations WHERE scope_id = :scope_id AND id = :conversation_id;
