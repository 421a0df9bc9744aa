"""The report of a recall evaluation: tables of each data set, and the goals."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.evaluation.recall_goals import COVERED, OURS
from benchmarks.evaluation.scoring import ALL, TOKENS_TO_COVER
from longmind.providers.provider_registry import AUTO

_PAGE_WIDTH = 200
"""Width of the tables in a file or a pipe."""
# The columns that fit into a line; the file of results has all measures.
_SHOWN = {
    "R@5": "R@5",
    "any@5": "any@5",
    "all@5": "all@5",
    "R@10": "R@10",
    "any@10": "any@10",
    "all@10": "all@10",
    "NDCG@10": "NDCG",
    "session R@5": "sess@5",
    COVERED: "in 1k",
}
_LEGEND = """\
R: share of gold turns found. any, all: share of questions with one gold turn
found, or with all of them. sess@5: R@5 of sessions. in 1k: gold turns within
1,000 tokens. tokens: the number that covers all gold turns of half of the
questions; never: the 100 best memories do not cover half of the questions.
"""


def show(results: dict[str, Any]) -> None:
    """Print the tables of every data set, and the goals with what was reached."""
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, _PAGE_WIDTH)
    console.print(
        f"Vectors: {_describe_vectors(results)}. Tokens: {results['tokenizer']}.", markup=False, highlight=False
    )
    console.print(_LEGEND, highlight=False)
    for name, measured in results["datasets"].items():
        # Questions without an answer have categories but nothing to compare.
        if ALL in measured[OURS]:
            console.print(_make_comparison(name, measured))
        else:
            console.print(f"{name}: no question that has an answer was asked.\n", markup=False, highlight=False)
        if measured[OURS]:
            console.print(_make_categories(name, measured[OURS]))
    if "updates" in results:
        console.print(_describe_updates(results["updates"]), highlight=False)
    if results["goals"]:
        console.print(_make_goals(results["goals"]))


def _describe_vectors(results: dict[str, Any]) -> str:
    if results["embedder"] is not None:
        return str(results["embedder"])
    return "none, since auto found no model" if results["embedder chosen"] == AUTO else "none, overlap of words alone"


def _describe_updates(measured: dict[str, Any]) -> str:
    shares = [f"{name} {' '.join(_format_interval(each))}" for name, each in measured.items() if isinstance(each, dict)]
    return f"Of {measured['facts']} facts that changed (95 %): {', '.join(shares)}"


def _make_comparison(name: str, measured: dict[str, Any]) -> Table:
    """Return the scores of every retriever over all questions that have an answer."""
    answered = measured[OURS][ALL]["questions"]
    title = f"{name}, {measured['questions']} questions, {answered} of them with an answer"
    table = _make_table(title, "retriever", *_SHOWN.values(), "tokens")
    for retriever, groups in measured.items():
        if isinstance(groups, dict):
            table.add_row(retriever, *_format_cells(groups[ALL]))
    return table


def _make_categories(name: str, groups: dict[str, Any]) -> Table:
    table = _make_table(f"{name} by category", "category", "R@5", "95 %", "R@10", "95 %", "tokens")
    for category, group in groups.items():
        cells = [cell for measure in ("R@5", "R@10") for cell in _format_interval(group[measure])]
        table.add_row(escape(f"{category} ({group['questions']})"), *cells, _format_tokens(group))
    return table


def _make_goals(judged: list[dict[str, Any]]) -> Table:
    table = _make_table("Goals", "goal", "at least", "reached", "")
    for each in judged:
        verdict = "pass" if each["passed"] else "FAIL"
        table.add_row(each["goal"], f"{each['least']:.2f}", f"{each['reached']:.3f}", verdict)
    return table


def _make_table(title: str, first: str, *columns: str) -> Table:
    # One space between columns makes all of them fit into a terminal of 80.
    table = Table(title=escape(title), title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0))
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _format_cells(group: dict[str, Any]) -> list[str]:
    return [*(f"{group[measure]['mean']:.3f}" for measure in _SHOWN), _format_tokens(group)]


def _format_interval(measure: dict[str, Any]) -> tuple[str, str]:
    low, high = measure["interval"]
    return f"{measure['mean']:.3f}", f"{low:.2f}-{high:.2f}"


def _format_tokens(group: dict[str, Any]) -> str:
    median = group[TOKENS_TO_COVER]["median"]
    return "never" if median is None else f"{median:,}"
