-- Grants: users who may read a shared space of another.

-- Holds a live shared space of the scope until the end of the transaction: it is not deleted while it is being granted.
-- name: hold_shared_space
UPDATE spaces SET updated_at = updated_at
WHERE scope_id = :scope_id AND id = :space_id AND kind = 'shared' AND deleted_at IS NULL
RETURNING id;

-- name: shared_space
SELECT id FROM spaces WHERE scope_id = :scope_id AND id = :space_id AND kind = 'shared' AND deleted_at IS NULL;

-- No row comes back when the user has the grant already.
-- name: insert_grant
INSERT INTO space_grants (app_key, space_id, user_id, owner_id, created_at)
VALUES (:app_key, :space_id, :user_id, :owner_id, :now)
ON CONFLICT (app_key, space_id, user_id) DO NOTHING
RETURNING user_id, created_at;

-- name: delete_grant
DELETE FROM space_grants
WHERE app_key = :app_key AND space_id = :space_id AND user_id = :user_id AND owner_id = :owner_id
RETURNING user_id;

-- name: grants_of_space
SELECT user_id, created_at FROM space_grants
WHERE app_key = :app_key AND space_id = :space_id AND owner_id = :owner_id
ORDER BY created_at, user_id;

-- name: drop_grants
DELETE FROM space_grants WHERE app_key = :app_key AND space_id = :space_id AND owner_id = :owner_id;

-- name: owner_of_granted
SELECT owner_id FROM space_grants
WHERE app_key = :app_key AND space_id = :space_id AND user_id IN (:user_id, '*') AND owner_id <> :user_id;

-- Oldest space first. A page begins after the id of the last row before it.
-- name: spaces_granted_to
SELECT DISTINCT space_id, owner_id FROM space_grants
WHERE app_key = :app_key AND user_id IN (:user_id, '*') AND owner_id <> :user_id AND space_id > :after_id
ORDER BY space_id
LIMIT :limit;
