"""The log of what happened: recorded on timelines, and read back newest last."""

from longmind.events.mirror.jsonl import read_jsonl
from longmind.events.service import Events

__all__ = ["Events", "read_jsonl"]
