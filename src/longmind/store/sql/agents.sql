-- Agents of an app, by name.

-- name: put_agent
INSERT INTO agents (app_key, name, tenant_id, app_id, definition, created_at, updated_at)
VALUES (:app_key, :name, :tenant_id, :app_id, :definition, :now, :now)
ON CONFLICT (app_key, name) DO UPDATE
SET definition = excluded.definition, updated_at = excluded.updated_at
RETURNING name, definition, created_at, updated_at;

-- name: get_agent
SELECT name, definition, created_at, updated_at FROM agents WHERE app_key = :app_key AND name = :name;

-- A page begins after the name of the last row before it.
-- name: list_agents
SELECT name, definition, created_at, updated_at FROM agents
WHERE app_key = :app_key AND name > :after
ORDER BY name
LIMIT :limit;

-- name: delete_agent
DELETE FROM agents WHERE app_key = :app_key AND name = :name RETURNING name;
