"""Rolling summaries that several processes refresh, and processes that die over one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

import longmind
from harness.crew import Line, ada, run_together, start_process
from longmind.extraction.candidate import SourceMessage

PROCESSES = 3
TURNS = 8


class Verbatim:
    name = "verbatim@1"

    def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
        return "|".join([*filter(None, [earlier]), *(message.text for message in messages)])


def talk_and_refresh(line: Line, url: str, conversation_id: str, name: str) -> list[int]:
    """Append turns and refresh after each; gives how far the summary went each time."""
    with ada(url, summariser=Verbatim(), embedder=None) as (_, ctx):
        line.wait_for_others()
        places = []
        for number in range(TURNS):
            ctx.conversations.append_turn(
                conversation_id, user_content=f"{name}{number}", assistant={"content": f"to {name}{number}"}
            )
            places.append(ctx.conversations.refresh_rolling_summary(conversation_id).rolling_summary_until_seq)
        return places


@pytest.mark.conforms("T24")
def test_processes_that_refresh_at_the_same_time_lose_nothing_and_never_go_backwards(
    new_url: Callable[[], str],
) -> None:
    url = new_url()
    with ada(url, summariser=Verbatim(), embedder=None) as (_, ctx):
        conversation_id = ctx.conversations.create_conversation("shared").id
        arguments = [(url, conversation_id, f"p{number}.") for number in range(PROCESSES)]
        for places in run_together(talk_and_refresh, arguments):
            assert places == sorted(places)
            assert all(place % 2 == 0 for place in places)
        conversation = ctx.conversations.get_conversation(conversation_id)
        said = [message.text for message in ctx.conversations.get_messages(conversation_id, limit=100)]
        assert conversation is not None
        assert conversation.rolling_summary == "|".join(said)
        assert conversation.rolling_summary_until_seq == len(said) == 2 * TURNS * PROCESSES


class Waiting(Verbatim):
    """Tells the test that it has begun, and never ends."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
        self._line.say("summarising")
        self._line.hear()
        return super().summarise(earlier, messages, limit)


def work(line: Line, url: str) -> None:
    with ada(url, summariser=Waiting(line), embedder=None, job_lease_seconds=0.5) as (engine, _):
        engine.work()


def test_a_worker_that_dies_over_a_summary_leaves_it_to_the_next_one(new_url: Callable[[], str]) -> None:
    url = new_url()
    with ada(url, summariser=Verbatim(), embedder=None, rolling_summary_turns=1) as (engine, ctx):
        conversation_id = ctx.conversations.create_conversation("shared").id
        ctx.conversations.append_turn(conversation_id, user_content="a", assistant={"content": "b"})
        with start_process(work, url) as child:
            assert child.hear() == "summarising"
            child.kill()
        conversation = ctx.conversations.get_conversation(conversation_id)
        assert conversation is not None
        assert conversation.rolling_summary is None
        done = longmind.WorkReport()
        while not done.succeeded:
            # The job is free again when the lease of the dead worker has ended.
            done = engine.work()
        conversation = ctx.conversations.get_conversation(conversation_id)
        assert conversation is not None
        assert conversation.rolling_summary == "a|b"
