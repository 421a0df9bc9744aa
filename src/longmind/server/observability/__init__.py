"""Logs, metrics, traces, request ids and health probes of the server."""
