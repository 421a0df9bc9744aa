"""Benchmarks: each measures Recollect beside a peer that does the same work, in the same run."""
