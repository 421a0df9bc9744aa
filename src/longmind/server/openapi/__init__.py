"""The OpenAPI document, derived from the table of operations."""
