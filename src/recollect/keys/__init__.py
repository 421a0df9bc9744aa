"""Keys of the server: made, listed, taken back, and asked whose a request is."""

from recollect.keys.keys import AccessKeys

__all__ = ["AccessKeys"]
