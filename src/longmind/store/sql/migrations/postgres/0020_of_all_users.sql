-- For what looks over all users, so that it takes no longer in a store of many: an erasure, which looks for shared spaces
-- of others, for what their owners' history tells of grants and for keys of the user, and the host, which looks through
-- the newest jobs or for one of them.
CREATE INDEX spaces_of_kind ON spaces (tenant_id, app_id, kind);
CREATE INDEX events_of_grants ON events (scope_id) WHERE kind IN ('space.granted', 'space.revoked');
CREATE INDEX access_keys_of_user ON access_keys (tenant_id, app_id, user_id) WHERE access = 'user';
CREATE INDEX jobs_newest ON jobs (id);

-- With the status the queue is counted from the index alone. A claim and an ending change due_at as well, so that it is
-- written no more often than before.
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (kind, due_at, status) WHERE due_at IS NOT NULL;
