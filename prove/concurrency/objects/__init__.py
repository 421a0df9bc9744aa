"""The kinds of objects that clients fight over."""

from __future__ import annotations

from prove.concurrency.objects.blocks import Blocks
from prove.concurrency.objects.conversations import Conversations
from prove.concurrency.objects.jobs import UniqueJobs
from prove.concurrency.objects.lines import BlockLines
from prove.concurrency.objects.player import Kind, Player
from prove.concurrency.objects.quotas import Sessions, Spending
from prove.concurrency.objects.recalls import Recalls

KINDS: dict[str, Kind] = {
    "blocks": Blocks(),
    "lines": BlockLines(),
    "conversations": Conversations(),
    "sessions": Sessions(),
    "spending": Spending(),
    "recalls": Recalls(),
    "jobs": UniqueJobs(),
}

__all__ = ["KINDS", "Kind", "Player"]
