"""The report of a recall evaluation: tables of each data set, of all sets together, and the goals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.evaluation.note_sets import TOP
from benchmarks.evaluation.recall_goals import (
    ADVERSARIAL_QUESTIONS,
    FROM_OTHERS,
    OURS,
    UNANSWERABLE_QUESTIONS,
)
from benchmarks.evaluation.scoring import ALL, COVERED, TOKENS_TO_COVER
from longmind.providers.provider_registry import AUTO

_PAGE_WIDTH = 200
"""Width of the tables in a file or a pipe."""
# The columns that fit into a line; the file of results has all measures.
_SHOWN = {
    "R@5": "R@5",
    "R@10": "R@10",
    "R@50": "R@50",
    "all@5": "all@5",
    "all@10": "all@10",
    "all@50": "all@50",
    COVERED: "in 1k",
}
_LEGEND = """\
R: share of gold turns found; a passage of n turns takes n places. all: share of
questions with all gold turns found. in 1k: gold turns within 1,000 tokens.
tokens, p90: the number that covers all gold turns of half and of nine tenths of
the questions; never: the 100 best memories do not. Tokens are those of texts
alone. ECE: expected calibration error of the first 10 scores. AUC: how well the
best score tells questions with an answer from others. (Numbers of questions.)
"""


def show(results: dict[str, Any]) -> None:
    """Print the tables of every data set, and the goals with what was reached."""
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, _PAGE_WIDTH)
    console.print(
        f"Vectors: {_describe_vectors(results)}. Tokens: {results['tokenizer']}. Effort: {results['effort']}.",
        markup=False,
        highlight=False,
    )
    console.print(_LEGEND, highlight=False)
    for name, measured in results["datasets"].items():
        groups = measured["retrievers"]
        # Questions without an answer have categories but nothing to compare.
        if ALL in groups[OURS]:
            console.print(_make_comparison(name, measured))
        else:
            console.print(f"{name}: no question that has an answer was asked.\n", markup=False, highlight=False)
        if groups[OURS]:
            console.print(_make_categories(name, measured))
    if any(results["over all sets"].values()):
        console.print(_make_overview(results["over all sets"]))
    if results["datasets"]:
        console.print(_make_confidence(results["datasets"]))
    for name, measured in results.get("notes", {}).items():
        console.print(_make_notes(name, measured))
    if "updates" in results:
        console.print(_describe_updates(results["updates"]), highlight=False)
    if results["goals"]:
        console.print(_make_goals(results["goals"]))
        console.print(_count_reached(results["goals"]), highlight=False)


def _describe_vectors(results: dict[str, Any]) -> str:
    if results["embedder"] is not None:
        return str(results["embedder"])
    return "none, since auto found no model" if results["embedder chosen"] == AUTO else "none, overlap of words alone"


def _describe_updates(measured: dict[str, Any]) -> str:
    shares = [f"{name} {' '.join(_format_interval(each))}" for name, each in measured.items() if isinstance(each, dict)]
    return f"Of {measured['facts']} facts that changed (95 %): {', '.join(shares)}"


def _make_comparison(name: str, measured: dict[str, Any]) -> Table:
    """Return the scores of every retriever over all questions that have an answer."""
    groups = measured["retrievers"]
    answered = groups[OURS][ALL]["questions"]
    title = f"{name}, {measured['questions']} questions, {answered} of them with an answer"
    table = _make_table(title, "retriever", *_SHOWN.values(), "tokens", "p90")
    for retriever, each in groups.items():
        means = [f"{each[ALL][measure]['mean']:.3f}" for measure in _SHOWN]
        table.add_row(retriever, *means, *_format_tokens(each[ALL]))
    return table


def _make_categories(name: str, measured: dict[str, Any]) -> Table:
    table = _make_table(
        f"{name} by category", "category", "R@5", "95 %", "R@10", "95 %", "R@50", "in 1k", "ECE", "tokens"
    )
    for category, group in measured["retrievers"][OURS].items():
        cells = [cell for measure in ("R@5", "R@10") for cell in _format_interval(group[measure])]
        means = [f"{group[measure]['mean']:.3f}" for measure in ("R@50", COVERED)]
        error = _format_share(measured["calibration"][category]["calibration error"])
        tokens = _format_tokens(group)[0]
        table.add_row(escape(f"{category} ({group['questions']})"), *cells, *means, error, tokens)
    return table


def _make_overview(compared: dict[str, Any]) -> Table:
    measures = list(next(each for each in compared.values() if each))
    columns = [column for measure in measures for column in (_SHOWN[measure], "worst")]
    table = _make_table("Mean and worst over the sets", "retriever", *columns, "worst R@10")
    for retriever, each in compared.items():
        if each:
            cells = [f"{each[measure][part]:.3f}" for measure in measures for part in ("mean", "worst")]
            table.add_row(retriever, *cells, escape(each["R@10"]["worst set"].split(" ")[0]))
    return table


def _make_confidence(datasets: dict[str, Any]) -> Table:
    kinds = {FROM_OTHERS: "AUC others'", ADVERSARIAL_QUESTIONS: "adversarial", UNANSWERABLE_QUESTIONS: "unanswerable"}
    table = _make_table("Confidence and time", "set", "ECE", *kinds.values(), "found", "others'", "ms", "embedding")
    for name, measured in datasets.items():
        known = measured["known"]
        aucs = [f"{known[kind]['AUC']:.3f} ({known[kind]['questions']})" if kind in known else "" for kind in kinds]
        found = (known.get(kind, {}).get("found") for kind in ("answerable", FROM_OTHERS))
        times = [f"{value:.1f}" for value in measured["milliseconds"].values()]
        error = measured["calibration"].get(ALL, {}).get("calibration error")
        cells = [_format_share(error), *aucs, *map(_format_share, found), *times, *[""] * (2 - len(times))]
        table.add_row(escape(name.split(" ")[0]), *cells)
    return table


def _make_notes(name: str, measured: dict[str, Any]) -> Table:
    title = f"Notes, {name}: {measured['spaces']} spaces"
    table = _make_table(title, "queries", "top-1", "95 %", "R@5", "ECE", "AUC")
    for kind, group in measured.items():
        if isinstance(group, dict):
            first = ("", "") if group[TOP] is None else _format_interval(group[TOP])
            rest = [_format_share(group[measure]) for measure in ("R@5", "calibration error", "AUC")]
            table.add_row(f"{kind} ({group['answerable']} + {group['unanswerable']})", *first, *rest)
    return table


def _make_goals(judged: Iterable[dict[str, Any]]) -> Table:
    table = _make_table("Goals", "goal", "reached", "", "must", "", "aim", "")
    for each in judged:
        cells = [f"{each['reached']:.3f}", each["bound"]]
        for bound, passed in (("must", "must passed"), ("aim", "aim reached")):
            cells += ["", ""] if each[bound] is None else [f"{each[bound]:.3f}", "pass" if each[passed] else "FAIL"]
        table.add_row(each["goal"], *cells)
    return table


def _count_reached(judged: Iterable[dict[str, Any]]) -> str:
    parts = []
    for name, passed in (("musts pass", "must passed"), ("aims are reached", "aim reached")):
        verdicts = [each[passed] for each in judged if each[passed] is not None]
        parts.append(f"{sum(verdicts)} of {len(verdicts)} {name}")
    return f"{', '.join(parts)}."


def _make_table(title: str, first: str, *columns: str) -> Table:
    # One space between columns makes all of them fit into a terminal of 80.
    table = Table(title=escape(title), title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0))
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _format_interval(measure: dict[str, Any]) -> tuple[str, str]:
    low, high = measure["interval"]
    return f"{measure['mean']:.3f}", f"{low:.2f}-{high:.2f}"


def _format_tokens(group: dict[str, Any]) -> tuple[str, str]:
    values = (group[TOKENS_TO_COVER][part] for part in ("median", "p90"))
    middle, most = ("never" if value is None else f"{value:,}" for value in values)
    return middle, most


def _format_share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
