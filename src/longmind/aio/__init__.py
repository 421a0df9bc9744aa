"""The asynchronous API, derived from the synchronous one."""
