-- Where a chain ends is hashed too, so that nobody without the key of the audit can let it end earlier.
ALTER TABLE tool_audit_heads ADD COLUMN seal TEXT NOT NULL DEFAULT '';
