"""Export, import and erasure of everything that belongs to a user."""

from longmind.admin.service import Admin

__all__ = ["Admin"]
