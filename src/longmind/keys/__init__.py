"""Keys of the server: made, listed, taken back, and asked whose a request is."""

from longmind.keys.service import AccessKeys

__all__ = ["AccessKeys"]
