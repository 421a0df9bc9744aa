-- What language models have cost each month. The rows belong to an app of a tenant, not to one of its users: scope_id is
-- made of these two alone.
CREATE TABLE model_spend (
    scope_id TEXT NOT NULL,
    month TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    microdollars INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (scope_id, month)
) STRICT, WITHOUT ROWID;
