"""Memory blocks: core and archival documents of a user, written by compare-and-set."""

from longmind.blocks.reader import BlockReader
from longmind.blocks.service import Blocks

__all__ = ["BlockReader", "Blocks"]
