"""Frozen values that operations take and return: snake_case in Python, the documented names in JSON."""
