-- What language models have cost each month. The rows belong to an app of a tenant, not to one of its users: scope_id is
-- made of these two alone.
CREATE TABLE model_spend (
    scope_id TEXT COLLATE "C" NOT NULL,
    month TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    microdollars BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (scope_id, month)
);

ALTER TABLE model_spend ENABLE ROW LEVEL SECURITY;
ALTER TABLE model_spend FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON model_spend
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
