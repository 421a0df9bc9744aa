"""The notebook of the examples: its cells run from top to bottom and print what they say, by meaning and by words."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parent.parent / "examples" / "notebook.ipynb"


def read_cells() -> list[dict[str, Any]]:
    return [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("embedder", ["none", "auto"])
def test_the_cells_print_what_they_say(embedder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LONGMIND_EMBEDDER", embedder)
    # As users have it; the other tests turn it off.
    monkeypatch.delenv("LONGMIND_SLEEP_TIME")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for cell in read_cells():
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), cell["id"], "exec"), namespace)
        assert printed.getvalue() == "".join("".join(output["text"]) for output in cell["outputs"]), cell["id"]


def test_it_is_a_notebook_that_was_never_run_here() -> None:
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert {cell["execution_count"] for cell in read_cells()} == {None}
