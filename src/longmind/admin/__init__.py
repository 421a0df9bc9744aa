"""All that belongs to a user: given out, brought in, and erased for good."""

from longmind.admin.service import Admin

__all__ = ["Admin"]
