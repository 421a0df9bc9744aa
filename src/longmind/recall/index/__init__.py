"""The in-memory index of a space or timeline, its cache, and its storage in the database."""
