"""Goals of recall on the development data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.evaluation.baseline_retrievers import DENSE, FUSION
from benchmarks.evaluation.scoring import ALL, COVERED
from longmind.models.recall import Effort

OURS = "longmind"
"""The name of our retriever among the baselines."""
FROM_OTHERS = "questions of other histories"
ADVERSARIAL_QUESTIONS = "adversarial questions"
UNANSWERABLE_QUESTIONS = "unanswerable questions"
CURRENT_ABOVE_OLD = "current above old"
MOST_CALIBRATION_ERROR = 0.05
LEAST_AUC = 0.95
MOST_MILLISECONDS_OF_HIGH = 500.0


@dataclass(frozen=True)
class Goal:
    """The least value of a measure of one data set that must be reached, and the one that should be."""

    dataset: str
    measure: str
    must: float | None
    goal: float | None
    effort: Effort | None = None
    """The effort for which it holds; None for both."""


GOALS = (
    Goal("LoCoMo", "R@10", 0.845, 0.87, "normal"),
    Goal("LoCoMo", "R@10", 0.89, 0.91, "high"),
    Goal("LongMemEval", "R@10", 0.95, 0.97),
    Goal("BEAM", "R@10", 0.60, 0.65),
    Goal("RealMem", "R@10", 0.31, 0.36),
    Goal("LoCoMo", COVERED, None, 0.91),
    Goal("LongMemEval", COVERED, None, 0.98),
    Goal("BEAM", COVERED, None, 0.58),
    Goal("RealMem", COVERED, None, 0.35),
)
UPDATES_MUST = 0.95


def judge(results: dict[str, Any]) -> list[dict[str, object]]:
    """Return each goal whose data was measured, with the value that was reached."""
    effort = results.get("effort", "normal")
    judged = [
        _judge_value(f"{goal.dataset} {goal.measure}", reached, must=goal.must, goal=goal.goal)
        for goal in GOALS
        if goal.effort in (None, effort)
        for reached in _find_means(results, goal.dataset, OURS, goal.measure)
    ]
    for name, measured in results["datasets"].items():
        judged += _judge_set(name.split(" ")[0], measured, effort)
    if "updates" in results:
        reached = results["updates"][CURRENT_ABOVE_OLD]["mean"]
        judged.append(_judge_value(f"updates {CURRENT_ABOVE_OLD}", reached, must=UPDATES_MUST))
    return judged


def _judge_set(name: str, measured: dict[str, Any], effort: Effort) -> Iterator[dict[str, object]]:
    """Yield the goals that hold for every set."""
    groups = measured["retrievers"]
    if ALL in groups[OURS]:
        reached = groups[OURS][ALL]["R@10"]["mean"]
        for baseline in (FUSION, DENSE):
            if baseline in groups:
                must = groups[baseline][ALL]["R@10"]["mean"]
                yield _judge_value(f"{name} R@10, not below {baseline}", reached, must=must)
        error = measured["calibration"][ALL]["calibration error"]
        if error is not None:
            yield _judge_value(f"{name} calibration error", error, must=MOST_CALIBRATION_ERROR, at_most=True)
    auc = measured["known"].get(FROM_OTHERS, {}).get("AUC")
    if auc is not None:
        yield _judge_value(f"{name} AUC, {FROM_OTHERS}", auc, must=LEAST_AUC)
    times = measured["milliseconds"]
    if effort == "high" and name.startswith("LoCoMo") and times:
        yield _judge_value(
            f"{name} p50 of a recall, in ms", sum(times.values()), must=MOST_MILLISECONDS_OF_HIGH, at_most=True
        )


def _judge_value(
    name: str, reached: float, *, must: float | None = None, goal: float | None = None, at_most: bool = False
) -> dict[str, object]:
    def passes(bound: float | None) -> bool | None:
        if bound is None:
            return None
        return reached <= bound if at_most else reached >= bound

    return {
        "goal": name,
        "reached": round(reached, 4),
        "bound": "at most" if at_most else "at least",
        "must": must,
        "must passed": passes(must),
        "aim": goal,
        "aim reached": passes(goal),
    }


def _find_means(results: dict[str, Any], dataset: str, retriever: str, measure: str) -> Iterator[float]:
    """Yield the mean of a measure, if it was measured."""
    for name, measured in results["datasets"].items():
        # The name of a set may continue with its part or variant.
        if name.startswith(dataset) and ALL in measured["retrievers"][retriever]:
            yield measured["retrievers"][retriever][ALL][measure]["mean"]
            return
