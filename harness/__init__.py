"""What tests and benchmarks need around the engine: a real PostgreSQL, and no network."""
