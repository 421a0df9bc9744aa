-- Since when an entity is known by a name: who asks what was known at an instant must not be helped by later names.
ALTER TABLE entity_names ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;

UPDATE entity_names SET created_at = (
    SELECT entities.created_at FROM entities
    WHERE entities.scope_id = entity_names.scope_id AND entities.id = entity_names.entity_id
);
