"""Validation of arguments: checks that all services share, and the limits of parameters."""
