"""Policies that decide, inside the transaction of a write, which jobs it causes."""
