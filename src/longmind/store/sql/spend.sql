-- What language models have cost, by tenant and app.

-- What a call may cost is counted before it is made, so that others who ask meanwhile know of it. No row comes back when
-- a cap was reached before.
-- name: reserve_spend
INSERT INTO model_spend (scope_id, month, tenant_id, app_id, microdollars, tokens, calls, updated_at)
VALUES (:scope_id, :month, :tenant_id, :app_id, :microdollars, :tokens, 1, :now)
ON CONFLICT (scope_id, month) DO UPDATE
SET microdollars = model_spend.microdollars + excluded.microdollars, tokens = model_spend.tokens + excluded.tokens,
    calls = model_spend.calls + 1, updated_at = excluded.updated_at
WHERE model_spend.microdollars < :cap_microdollars AND model_spend.tokens < :cap_tokens
RETURNING microdollars;

-- Puts what a call has cost in the place of what was reserved: both numbers are differences.
-- name: settle_spend
UPDATE model_spend
SET microdollars = microdollars + :microdollars, tokens = tokens + :tokens, updated_at = :now
WHERE scope_id = :scope_id AND month = :month
RETURNING microdollars;

-- name: get_spend
SELECT microdollars, tokens, calls FROM model_spend WHERE scope_id = :scope_id AND month = :month;
