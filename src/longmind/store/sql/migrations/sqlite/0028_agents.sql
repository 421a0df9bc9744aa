-- Agents of an app: their definitions as JSON. app_key is tenant + app, hashed. All users of the app invoke them, so the
-- rows belong to none of them and stay when one is erased.
CREATE TABLE agents (
    app_key TEXT NOT NULL,
    name TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    definition TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (app_key, name)
) STRICT, WITHOUT ROWID;
