"""Benchmarks: each measures Longmind beside a peer that does the same work, in the same run."""
