"""All that belongs to a user: given out, brought in, and erased for good."""

from recollect.admin.admin import Admin

__all__ = ["Admin"]
