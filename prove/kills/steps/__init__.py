"""The operations of the workload, by name."""

from prove.kills.steps import blocks, conversations, events, memory
from prove.kills.steps.step import Impossible, Known, Planning, Step

STEPS: dict[str, Step] = {
    step.name: step for step in (*conversations.STEPS, *memory.STEPS, *blocks.STEPS, *events.STEPS)
}

__all__ = ["STEPS", "Impossible", "Known", "Planning", "Step"]
