-- Agents of an app: their definitions as JSON. app_key is tenant + app, hashed. All users of the app invoke them, so the
-- rows belong to none of them and stay when one is erased.
CREATE TABLE agents (
    app_key TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    definition TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (app_key, name)
);

ALTER TABLE agents ENABLE ROW LEVEL SECURITY;
ALTER TABLE agents FORCE ROW LEVEL SECURITY;
CREATE POLICY own_app ON agents
    USING ((SELECT current_setting('longmind.app', true)) IN (app_key, '*'));
