"""Results of tools on a timeline."""

from __future__ import annotations

import pytest

import longmind
from tests.events.samples import texts


@pytest.mark.conforms("D3.1")
def test_a_result_of_a_tool_is_recorded(ctx: longmind.Context) -> None:
    event = ctx.events.record_tool_result(
        tool="planner",
        inputs=[{"q": "status"}],
        outputs=[{"ok": True}],
        tags=["plan"],
        metrics={"seconds": 0.5},
        message="Planner completed.",
    )
    assert (event.kind, event.tool, event.topic, event.severity) == ("tool_result", "planner", "planner", 3)
    assert (event.inputs, event.outputs, event.text) == ([{"q": "status"}], [{"ok": True}], "Planner completed.")
    assert (event.tags, event.metrics) == (["plan"], {"seconds": 0.5})
    bare = ctx.events.record_tool_result(tool="planner")
    assert (bare.inputs, bare.outputs, bare.text) == ([], [], None)
    assert ctx.events.recent_tool_results(tool="planner") == [event, bare]
    for tool in ("", " ", None, "x" * 256):
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded), match="tool"):
            ctx.events.record_tool_result(tool=tool)  # type: ignore[arg-type]


@pytest.mark.conforms("D3.2", "V7")
def test_the_newest_results_of_one_tool_are_given_newest_last(ctx: longmind.Context) -> None:
    for number in range(5):
        ctx.events.record_tool_result(tool="planner", message=f"plan {number}")
        ctx.events.record_tool_result(tool="search", message=f"search {number}")
    ctx.events.record_raw(base={"kind": "note", "topic": "planner"}, text="no result")
    assert texts(ctx.events.recent_tool_results(tool="planner", limit=1)) == ["plan 4"]
    assert texts(ctx.events.recent_tool_results(tool="planner", limit=2)) == ["plan 3", "plan 4"]
    assert len(ctx.events.recent_tool_results(tool="search")) == 5
    assert ctx.events.recent_tool_results(tool="unknown") == []
