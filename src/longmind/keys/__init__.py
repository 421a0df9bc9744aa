"""Access keys of the server: they say on whose behalf a request is made."""

from longmind.keys.service import AccessKeys

__all__ = ["AccessKeys"]
