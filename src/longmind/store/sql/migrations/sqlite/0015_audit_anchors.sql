-- Old lines of the audit are moved to files. Where a chain begins since then, and which file has the lines before, is
-- kept beside where it ends, and hashed like that.
ALTER TABLE tool_audit_heads ADD COLUMN anchor_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tool_audit_heads ADD COLUMN anchor_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE tool_audit_heads ADD COLUMN anchor_file TEXT NOT NULL DEFAULT '';
ALTER TABLE tool_audit_heads ADD COLUMN anchor_digest TEXT NOT NULL DEFAULT '';
ALTER TABLE tool_audit_heads ADD COLUMN anchor_seal TEXT NOT NULL DEFAULT '';
