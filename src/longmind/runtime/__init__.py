"""Process-level support that knows nothing of memory: forks, durable files, threads and garbage collection."""
