"""Memory blocks: core and archival documents of a user, written by compare-and-set."""

from recollect.blocks.blocks import Blocks
from recollect.blocks.reading import BlockReader

__all__ = ["BlockReader", "Blocks"]
