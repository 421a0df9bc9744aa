"""Goals of recall on the development data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.evaluation.scoring import ALL, TOKEN_BUDGET

OURS = "longmind"
"""The name of our retriever among the baselines."""


@dataclass(frozen=True)
class Goal:
    """The least value of a measure on one data set."""

    dataset: str
    category: str
    measure: str
    least: float


COVERED = f"covered in {TOKEN_BUDGET} tokens"
CURRENT_ABOVE_OLD = "current above old"

GOALS = (
    Goal("LoCoMo", ALL, "R@5", 0.74),
    Goal("LoCoMo", ALL, "R@10", 0.83),
    Goal("LoCoMo", "multi-hop", "R@10", 0.55),
    Goal("LoCoMo", ALL, COVERED, 0.87),
    Goal("LongMemEval", ALL, "R@10", 0.90),
    Goal("LongMemEval", ALL, "session R@5", 0.98),
    Goal("updates", ALL, CURRENT_ABOVE_OLD, 0.95),
)


def judge(results: dict[str, Any]) -> list[dict[str, object]]:
    """Return each goal whose data was measured, with the value that was reached."""
    judged: list[dict[str, object]] = []
    for goal in GOALS:
        reached = _find_value(results, goal)
        if reached is not None:
            judged.append(
                {
                    "goal": f"{goal.dataset} {goal.category} {goal.measure}",
                    "least": goal.least,
                    "reached": reached,
                    "passed": reached >= goal.least,
                }
            )
    return judged


def _find_value(results: dict[str, Any], goal: Goal) -> float | None:
    if goal.dataset == "updates":
        updates = results.get("updates")
        return None if updates is None else updates[goal.measure]["mean"]
    # The name of a set may continue with its part or variant.
    found = (measured for name, measured in results["datasets"].items() if name.startswith(goal.dataset))
    measured = next(found, None)
    groups = {} if measured is None else measured[OURS]
    return groups[goal.category][goal.measure]["mean"] if goal.category in groups else None
