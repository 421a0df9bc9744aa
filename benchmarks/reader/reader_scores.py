"""The scores of what was remembered: those of the shared scorer, with intervals, by setting, and beside the goals."""

from __future__ import annotations

import importlib.util
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.reader.labelled_sets import LabelledSet, count_by_reason, count_labelled, find_setting, keep_labelled
from longmind.errors import InvalidInput

SCORER = "score_reader.py"
PRECISION, IMPORTANT = "precision", "recall of important facts"
KIND, IMPORTANCE = "kind right", "importance within one"
CHANGES, WRONG = "changes ended", "endings that are wrong"
ANSWERED, STALE = "questions answered by the context", "contexts with something stale"
PER_MESSAGE = "atoms per message"
PER_LABELLED = "atoms per labelled message"
FIGURES = {
    PRECISION: ("right", "atoms"),
    "atoms on messages with nothing": ("on_nothing", "atoms"),
    "recall of facts": ("found", "facts"),
    IMPORTANT: ("strong_found", "strong"),
    PER_MESSAGE: ("atoms", "messages"),
    KIND: ("kind", "found"),
    IMPORTANCE: ("importance", "found"),
    CHANGES: ("changed", "changes"),
    WRONG: ("ended_wrong", "ended"),
    "negations kept": ("negation_right", "negation"),
    ANSWERED: ("answered", "questions"),
    STALE: ("stale", "questions"),
}
"""The counts of the scorer whose quotient each of its figures is, so that its intervals can be drawn."""
BY_SETTING = (PRECISION, IMPORTANT, KIND, PER_MESSAGE)
DRAWS = 1_000
_SEED = 7
_ROUNDING = 0.0011

Counts = Mapping[str, int]


@dataclass(frozen=True)
class Goal:
    """Two bounds for a figure: one that must be reached, and a better one."""

    figure: str
    must: float
    goal: float
    at_most: bool = False

    def judge(self, reached: float | None) -> dict[str, Any]:
        """Return a row of the table of goals."""
        sign = "<=" if self.at_most else ">="
        row = {"figure": self.figure, "must": f"{sign} {self.must:g}", "goal": f"{sign} {self.goal:g}"}
        met = [bound for bound in ("goal", "must") if reached is not None and self._is_met(reached, bound)]
        return {**row, "reached": reached, "met": None if reached is None else (met or ["missed"])[0]}

    def _is_met(self, reached: float, bound: str) -> bool:
        most: float = getattr(self, bound)
        return reached <= most if self.at_most else reached >= most


GOALS = (
    Goal(PRECISION, 0.60, 0.75),
    Goal(IMPORTANT, 0.60, 0.80),
    Goal(KIND, 0.65, 0.80),
    Goal(IMPORTANCE, 0.80, 0.90),
    Goal(CHANGES, 0.45, 0.70),
    Goal(WRONG, 0.15, 0.08, at_most=True),
    Goal(ANSWERED, 0.85, 0.92),
    Goal(STALE, 0.12, 0.05, at_most=True),
    Goal(PER_MESSAGE, 0.5, 0.4, at_most=True),
)


def load_scorer(folder: Path) -> Any:
    """Return the shared scorer as a module, from its place; raise InvalidInput if it is not there."""
    path = folder / SCORER
    if not path.is_file():
        raise InvalidInput(
            f"There is no {SCORER} in {folder}.",
            hint="The scorer is shared and not part of this repository: name its folder with --data.",
        )
    spec = importlib.util.spec_from_file_location("score_reader", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def score_set(labelled: LabelledSet, system: Mapping[str, Any], scorer: Any) -> dict[str, Any]:
    """Return all that is measured of what one version remembers of a set."""
    # A user of whom a version remembers nothing has no entry of atoms to leave out.
    kept = {user["user"]: keep_labelled(user, system[user["user"]]) for user in labelled.users}
    total = scorer.score(labelled.users, kept)
    each = [scorer.score([user], kept)["counts"] for user in labelled.users]
    _check_figures(total)
    atoms = total["counts"]["atoms"]
    figures: dict[str, Any] = {name: total[name] for name in FIGURES}
    return {
        "users": len(labelled.users),
        "counts": total["counts"],
        "figures": figures,
        PER_LABELLED: round(atoms / count_labelled(labelled.users), 3),
        "intervals": draw_intervals(each),
        "settings": {} if labelled.by_message else _score_settings(labelled, each),
        "nothing": count_by_reason(labelled.users, kept),
        "goals": judge_goals(figures, by_message=labelled.by_message),
    }


def judge_goals(figures: Mapping[str, float | None], *, by_message: bool = False) -> list[dict[str, Any]]:
    """Return the goals beside what was reached.

    by_message: the messages of the set are mostly context, so that atoms are not compared with their number.
    """
    return [
        goal.judge(None if by_message and goal.figure == PER_MESSAGE else figures.get(goal.figure)) for goal in GOALS
    ]


def _check_figures(total: Mapping[str, Any]) -> None:
    """Raise if the figures of the scorer are not the quotients that intervals are drawn of."""
    wrong = sorted(
        name
        for name in FIGURES.keys() | (total.keys() - {"counts"})
        if name not in FIGURES or name not in total or not _is_quotient(name, total)
    )
    if wrong:
        raise InvalidInput(
            f"{SCORER} computes {', '.join(wrong)} in another way than this benchmark.",
            hint="Bring FIGURES in benchmarks/reader/reader_scores.py up to date.",
        )


def _is_quotient(name: str, total: Mapping[str, Any]) -> bool:
    quotient = divide(total["counts"], name)
    # The scorer writes some figures without a denominator as 0 and others as None.
    return quotient is None or (total[name] is not None and abs(quotient - total[name]) < _ROUNDING)


def divide(counts: Counts, name: str) -> float | None:
    """Return a figure, or None without anything to divide by."""
    part, whole = FIGURES[name]
    return counts[part] / counts[whole] if counts[whole] else None


def draw_intervals(users: Sequence[Counts], draws: int = DRAWS) -> dict[str, list[float] | None]:
    """Return the bounds within which 95 % of the figures of users lie that are drawn again with replacement."""
    chance = random.Random(_SEED)
    drawn = [_sum_counts(chance.choices(users, k=len(users))) for _ in range(draws)] if users else []
    intervals: dict[str, list[float] | None] = {}
    for name in FIGURES:
        values = sorted(value for counts in drawn if (value := divide(counts, name)) is not None)
        edge = len(values) // 40
        intervals[name] = [round(values[edge], 3), round(values[-1 - edge], 3)] if values else None
    return intervals


def _sum_counts(users: Sequence[Counts]) -> Counter[str]:
    total: Counter[str] = Counter()
    for counts in users:
        total.update(counts)
    return total


def _score_settings(labelled: LabelledSet, users: Sequence[Counts]) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Counts]] = {}
    for user, counts in zip(labelled.users, users, strict=True):
        groups.setdefault(find_setting(user), []).append(counts)
    scored = {}
    for setting, members in sorted(groups.items()):
        total = _sum_counts(members)
        figures = {name: divide(total, name) for name in BY_SETTING}
        scored[setting] = {
            "users": len(members),
            "facts": total["facts"],
            **{name: None if value is None else round(value, 3) for name, value in figures.items()},
        }
    return scored
