"""Goals of extraction on the development data."""

from __future__ import annotations

from typing import Any

from benchmarks.evaluation.date_reading import INVENTED, RIGHT_DAY, RIGHT_INTERVAL
from benchmarks.evaluation.scoring import ALL
from benchmarks.evaluation.superseded_facts import BOTH

LEAST_OF_SET = {
    "evidence turns with an atom": 0.97,
    "answer words kept": 0.85,
    "facts with an atom that shares their words": 0.90,
}
MOST_DUPLICATES = 0.01
LEAST_OF_DATES = {RIGHT_DAY: 0.97, RIGHT_INTERVAL: 0.92}
MOST_INVENTED = 0.005
LEAST_CHANGED = 0.80
RECALL = {"LoCoMo": 0.842, "LongMemEval": 0.964}
"""Recall@10 with one memory for each turn, as `./dev bench recall-quality` measures it."""
MOST_LOST = 0.02


def judge(results: dict[str, Any]) -> list[dict[str, object]]:
    """Return each goal whose data was measured, with the value that was reached."""
    goals: list[dict[str, object]] = []
    for name, measured in results["datasets"].items():
        for measure, least in LEAST_OF_SET.items():
            if measure.startswith("facts") and not measured["facts"]:
                continue
            goals.append(_require_at_least(f"{name}: {measure}", measured[measure], least))
        goals.append(_require_at_most(f"{name}: duplicates", measured["duplicates"], MOST_DUPLICATES))
        for known, recall in RECALL.items():
            if name.startswith(known) and ALL in measured["recall"]:
                reached = measured["recall"][ALL]["R@10"]["mean"]
                goals.append(_require_at_least(f"{name}: R@10 through atoms", reached, round(recall - MOST_LOST, 4)))
    for measure, least in LEAST_OF_DATES.items():
        goals.append(_require_at_least(f"dates: {measure}", results["dates"][measure], least))
    goals.append(_require_at_most(f"dates: {INVENTED}", results["dates"][INVENTED], MOST_INVENTED))
    if "updates" in results:
        goals.append(_require_at_least(f"updates: {BOTH}", results["updates"][BOTH], LEAST_CHANGED))
    return goals


def _require_at_least(goal: str, reached: float, least: float) -> dict[str, object]:
    return {"goal": goal, "bound": f">= {least}", "reached": reached, "passed": reached >= least}


def _require_at_most(goal: str, reached: float, most: float) -> dict[str, object]:
    return {"goal": goal, "bound": f"<= {most}", "reached": reached, "passed": reached <= most}
