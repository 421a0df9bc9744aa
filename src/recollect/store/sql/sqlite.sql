-- What SQLite says differently.

-- A write transaction of SQLite is alone already, so reading the row is enough to hold it.
-- name: lock_conversation
SELECT status FROM conversations WHERE scope_id = :scope_id AND id = :conversation_id;

-- name: atoms_at
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND position IN (SELECT value FROM json_each(:positions));
