"""What a measurement of recall is shown as: tables of each set, and the goals."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from recollect.cli.output import answers
from recollect.quality.goals import COVERED, OURS
from recollect.quality.scoring import ALL, TOKENS_TO_COVER

# What fits into a line; the file has all of it.
_SHOWN = {
    "R@5": "R@5",
    "R@10": "R@10",
    "all@10": "all@10",
    "NDCG@10": "NDCG",
    "session R@5": "sess@5",
    COVERED: "in 1k",
}


def show(results: dict[str, Any]) -> None:
    embedder = results["embedder"] or "none, words alone"
    answers.print(f"Vectors: {embedder}. Tokens: {results['tokenizer']}.", highlight=False)
    answers.print(
        "sess@5: R@5 of sessions. in 1k: gold turns within 1,000 tokens. tokens: median to cover all of them.\n",
        highlight=False,
    )
    for name, measured in results["datasets"].items():
        answers.print(_comparison(name, measured))
        answers.print(_categories(name, measured[OURS]))
    if "updates" in results:
        answers.print(", ".join(f"{key}: {value}" for key, value in results["updates"].items()), highlight=False)
    answers.print(_goals(results["goals"]))


def _comparison(name: str, measured: dict[str, Any]) -> Table:
    """Every retriever over all questions that have an answer."""
    table = _table(f"{name}, {measured['questions']} questions", "retriever", *_SHOWN.values(), "tokens")
    for retriever, groups in measured.items():
        if isinstance(groups, dict):
            table.add_row(retriever, *_cells(groups[ALL]))
    return table


def _categories(name: str, groups: dict[str, Any]) -> Table:
    table = _table(f"{name} by category", "category", "R@5", "95 %", "R@10", "95 %", "tokens")
    for category, group in groups.items():
        cells = [cell for measure in ("R@5", "R@10") for cell in _with_interval(group[measure])]
        table.add_row(f"{category} ({group['questions']})", *cells, _tokens(group))
    return table


def _goals(judged: list[dict[str, Any]]) -> Table:
    table = _table("Goals", "goal", "at least", "reached", "")
    for each in judged:
        verdict = "pass" if each["passed"] else "FAIL"
        table.add_row(each["goal"], f"{each['least']:.2f}", f"{each['reached']:.3f}", verdict)
    return table


def _table(title: str, first: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _cells(group: dict[str, Any]) -> list[str]:
    return [*(f"{group[measure]['mean']:.3f}" for measure in _SHOWN), _tokens(group)]


def _with_interval(measure: dict[str, Any]) -> tuple[str, str]:
    low, high = measure["interval"]
    return f"{measure['mean']:.3f}", f"{low:.2f}-{high:.2f}"


def _tokens(group: dict[str, Any]) -> str:
    median = group[TOKENS_TO_COVER]["median"]
    return "never" if median is None else f"{median:,}"
