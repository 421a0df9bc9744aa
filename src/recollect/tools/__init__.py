"""The memory tools for agents: store, search, brief, delete."""
