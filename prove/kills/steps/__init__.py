"""The operations of the workload, by name."""

from prove.kills.steps import access, blocks, conversations, copies, events, memory
from prove.kills.steps.step import Known, NothingToDo, Step, StepContext

STEPS: dict[str, Step] = {
    step.name: step for part in (conversations, memory, blocks, events, access, copies) for step in part.STEPS
}

__all__ = ["STEPS", "Known", "NothingToDo", "Step", "StepContext"]
