-- Who may read a shared space beside its owner; '*' is every user of the app. app_key is tenant + app, hashed. The owner
-- is kept by name, since their key cannot be turned back into it.
CREATE TABLE space_grants (
    app_key TEXT NOT NULL,
    space_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (app_key, space_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX space_grants_of_user ON space_grants (app_key, user_id, space_id);
