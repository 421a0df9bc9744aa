"""The JSONL mirror: a copy of the event log in plain files."""
