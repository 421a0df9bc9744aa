"""Surroundings of the engine for tests and benchmarks: a real PostgreSQL, and no network."""
