-- The costs of language models, by tenant and app.

-- Reserves the most that a call may cost before it is made, so that other calls at the same time see it. No row comes back
-- when a cap was reached before.
-- name: reserve_spend
INSERT INTO model_spend (scope_id, month, tenant_id, app_id, microdollars, tokens, calls, updated_at)
VALUES (:scope_id, :month, :tenant_id, :app_id, :microdollars, :tokens, 1, :now)
ON CONFLICT (scope_id, month) DO UPDATE
SET microdollars = model_spend.microdollars + excluded.microdollars, tokens = model_spend.tokens + excluded.tokens,
    calls = model_spend.calls + 1, updated_at = excluded.updated_at
WHERE model_spend.microdollars < :cap_microdollars AND model_spend.tokens < :cap_tokens
RETURNING microdollars;

-- Replaces what was reserved by what a call has cost: both numbers are differences.
-- name: settle_spend
UPDATE model_spend
SET microdollars = microdollars + :microdollars, tokens = tokens + :tokens, updated_at = :now
WHERE scope_id = :scope_id AND month = :month
RETURNING microdollars;

-- name: get_spend
SELECT microdollars, tokens, calls FROM model_spend WHERE scope_id = :scope_id AND month = :month;
