-- Who may read a shared space beside its owner; '*' is every user of the app. app_key is tenant + app, hashed. The owner
-- is kept by name, since their key cannot be turned back into it.
CREATE TABLE space_grants (
    app_key TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    owner_id TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (app_key, space_id, user_id)
);

CREATE INDEX space_grants_of_user ON space_grants (app_key, user_id, space_id);

ALTER TABLE space_grants ENABLE ROW LEVEL SECURITY;
ALTER TABLE space_grants FORCE ROW LEVEL SECURITY;
CREATE POLICY own_app ON space_grants
    USING ((SELECT current_setting('longmind.app', true)) IN (app_key, '*'));
