"""Benchmarks: each measures Longmind next to a peer that does the same work in the same run."""
