"""The values that go in and out: frozen, snake_case in Python, the documented camelCase names as JSON."""
