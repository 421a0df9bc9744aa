"""The audit log: a hash chain of tool calls and administrative actions, verified, rotated and exported."""
