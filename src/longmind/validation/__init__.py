"""Validation of arguments, shared by all services."""
