"""The results of the reader as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.measure import table
from benchmarks.reader.reader_scores import BY_SETTING, FIGURES, PER_LABELLED

NONE = "-"


def show(results: Mapping[str, Any]) -> None:
    """Print everything that was measured."""
    for name, versions in results["sets"].items():
        print(f"\n{name}: {_describe(versions)}")
        _show_figures(versions)
        _show_settings(versions)
        _show_reasons(versions)
        _show_goals(versions)
    for part in ("dates", "updates"):
        _show_values(part, results.get(part, {}))
    if "cost" in results:
        _show_cost(results["cost"])


def _describe(versions: Mapping[str, Any]) -> str:
    counts = next(iter(versions.values()))["counts"]
    return f"{counts['messages']} messages, {counts['facts']} facts, {counts['changes']} changes"


def _show_figures(versions: Mapping[str, Any]) -> None:
    headings = ["<figure"]
    for version in versions:
        headings += [version, "<"]
    rows: list[tuple[object, ...]] = []
    for figure in FIGURES:
        row: list[object] = [figure]
        for scored in versions.values():
            row += [_format(scored["figures"][figure]), _format_interval(scored["intervals"][figure])]
        rows.append(tuple(row))
    extra = [part for scored in versions.values() for part in (_format(scored[PER_LABELLED]), "")]
    print(table(headings, [*rows, (PER_LABELLED, *extra)]))


def _show_settings(versions: Mapping[str, Any]) -> None:
    first = next(iter(versions.values()))
    if not first["settings"]:
        return
    for version, scored in versions.items():
        rows = [
            (setting, each["facts"], *(_format(each[figure]) for figure in BY_SETTING))
            for setting, each in scored["settings"].items()
        ]
        print(table((f"<settings: {version}", "facts", *BY_SETTING), rows))


def _show_reasons(versions: Mapping[str, Any]) -> None:
    first = next(iter(versions.values()))
    rows = [
        (reason, of_first["messages"], *(_format(scored["nothing"][reason]["share"]) for scored in versions.values()))
        for reason, of_first in first["nothing"].items()
    ]
    print(table(("<messages with nothing: share with an atom", "messages", *versions), rows))


def _show_goals(versions: Mapping[str, Any]) -> None:
    first = next(iter(versions.values()))
    rows = []
    for place, goal in enumerate(first["goals"]):
        reached = [
            part
            for scored in versions.values()
            for part in (_format(scored["goals"][place]["reached"]), scored["goals"][place]["met"] or "")
        ]
        rows.append((goal["figure"], goal["must"], goal["goal"], *reached))
    headings = [part for version in versions for part in (version, "<")]
    print(table(("<goals", "<must", "<goal", *headings), rows))


def _show_cost(cost: Mapping[str, Any]) -> None:
    _show_values("speed", cost["speed"])
    _show_values("passes of the encoder", cost["passes"])
    rows = cost["growth"]["sizes"]
    print(table([f"<{name}" for name in rows[0]], [tuple(row.values()) for row in rows]))
    print(f"milliseconds per kB, longest to shortest: {cost['growth']['ratio']}")


def _show_values(title: str, values: Mapping[str, object]) -> None:
    if values:
        print(table((f"<{title}", "value"), list(values.items())))


def _format(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def _format_interval(interval: list[float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
