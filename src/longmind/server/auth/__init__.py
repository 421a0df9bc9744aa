"""Authentication of requests: API keys, signed web tokens, single-user mode and rate limits."""
