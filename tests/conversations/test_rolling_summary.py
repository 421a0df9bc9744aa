"""The rolling summary: up to the last whole turn, of what may be told, and never backwards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

import longmind
from longmind.extraction.candidate import SourceMessage
from longmind.store.tables import summaries
from tests.clock import SettableClock

TOOL_USE = [{"type": "tool_use", "id": "call-1", "name": "look_up", "arguments": {}}]


class Verbatim:
    """Tells all that it is given, so that a test sees what that was."""

    name = "verbatim@1"

    def __init__(self, before: Callable[[], object] = lambda: None) -> None:
        self._before = before

    def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
        self._before()
        return "|".join([*filter(None, [earlier]), *(message.text for message in messages)])


class Silent:
    name = "silent@1"

    def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
        return ""


@contextmanager
def opened(url: str, summariser: object = None, **settings: object) -> Iterator[longmind.Context]:
    chosen = Verbatim() if summariser is None else summariser
    with longmind.open(url, summariser=chosen, embedder=None, **settings) as engine:  # type: ignore[arg-type]
        yield engine.context(tenant_id="acme", app_id="support", user_id="ada")


@pytest.fixture
def verbatim(database_url: str) -> Iterator[longmind.Context]:
    with opened(database_url) as ctx:
        yield ctx


def begin(ctx: longmind.Context, *turns: tuple[str, str]) -> str:
    conversation_id = ctx.conversations.create_conversation("support-chat").id
    say(ctx, conversation_id, *turns)
    return conversation_id


def say(ctx: longmind.Context, conversation_id: str, *turns: tuple[str, str]) -> None:
    for asked, answered in turns:
        ctx.conversations.append_turn(conversation_id, user_content=asked, assistant={"content": answered})


def refresh(ctx: longmind.Context, conversation_id: str) -> tuple[str, str | None, int]:
    refreshed = ctx.conversations.refresh_rolling_summary(conversation_id)
    conversation = ctx.conversations.get_conversation(conversation_id)
    assert conversation is not None
    kept = conversation.rolling_summary, conversation.rolling_summary_until_seq
    assert (refreshed.rolling_summary, refreshed.rolling_summary_until_seq) == kept
    return refreshed.outcome, *kept


@pytest.mark.conforms("A1.21")
def test_a_refresh_covers_what_was_said_and_one_without_news_changes_nothing(verbatim: longmind.Context) -> None:
    conversation_id = begin(verbatim, ("a", "b"))
    assert refresh(verbatim, conversation_id) == ("updated", "a|b", 2)
    assert refresh(verbatim, conversation_id) == ("unchanged", "a|b", 2)
    say(verbatim, conversation_id, ("c", "d"))
    assert refresh(verbatim, conversation_id) == ("updated", "a|b|c|d", 4)


@pytest.mark.conforms("A1.21")
def test_a_conversation_without_words_is_skipped(verbatim: longmind.Context) -> None:
    conversation_id = begin(verbatim)
    assert refresh(verbatim, conversation_id) == ("skipped_empty", None, 0)
    verbatim.conversations.append_system_message(conversation_id, "Be kind.")
    verbatim.conversations.append_user_message(conversation_id, "secret", visibility="hidden")
    verbatim.conversations.append_assistant_turn(conversation_id, "secret too", visibility="hidden")
    assert refresh(verbatim, conversation_id) == ("skipped_empty", None, 0)


@pytest.mark.conforms("A1.21")
def test_a_summariser_that_has_nothing_to_tell_moves_nothing(database_url: str) -> None:
    with opened(database_url, Silent()) as ctx:
        assert refresh(ctx, begin(ctx, ("Hi!", "Hello!"))) == ("skipped_empty", None, 0)


@pytest.mark.conforms("A1.21")
def test_a_summariser_that_fails_is_told_and_leaves_the_summary_as_it_was(database_url: str) -> None:
    with opened(database_url) as ctx:
        conversation_id = begin(ctx, ("a", "b"))
        refresh(ctx, conversation_id)
        say(ctx, conversation_id, ("c", "d"))

    def fail() -> None:
        raise longmind.ModelFailed("It is on fire.", hint="Run.")

    with opened(database_url, Verbatim(fail)) as ctx:
        refreshed = ctx.conversations.refresh_rolling_summary(conversation_id)
        assert (refreshed.outcome, refreshed.error) == ("failed", "It is on fire. Hint: Run.")
        assert refresh(ctx, conversation_id) == ("failed", "a|b", 2)


@pytest.mark.parametrize("text", ["x" * 201, "\x00", 7])
def test_a_summary_that_cannot_be_kept_is_a_failure(database_url: str, text: str) -> None:
    class Odd:
        name = "odd@1"

        def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
            return text

    with opened(database_url, Odd(), rolling_summary_characters=200) as ctx:
        refreshed = ctx.conversations.refresh_rolling_summary(begin(ctx, ("a", "b")))
        assert refreshed.outcome == "failed"
        assert refreshed.error is not None
        assert "The summary" in refreshed.error


def test_a_conversation_that_is_not_there_is_not_found(verbatim: longmind.Context) -> None:
    with pytest.raises(longmind.NotFound):
        verbatim.conversations.refresh_rolling_summary("conv_none")


@pytest.mark.conforms("T24", "A1.16")
def test_hidden_messages_and_the_applications_own_reach_no_summary(verbatim: longmind.Context) -> None:
    conversation_id = begin(verbatim, ("a", "b"))
    verbatim.conversations.append_system_message(conversation_id, "SYSTEM")
    verbatim.conversations.append_user_message(conversation_id, "HIDDEN", visibility="hidden")
    verbatim.conversations.append_assistant_turn(conversation_id, "c", visibility="internal")
    verbatim.conversations.append_assistant_turn(conversation_id, "HIDDEN", visibility="hidden")
    assert refresh(verbatim, conversation_id) == ("updated", "a|b|c", 6)


@pytest.mark.conforms("T24", "T2")
def test_only_the_latest_answer_to_a_turn_is_summarised(verbatim: longmind.Context) -> None:
    conversation_id = begin(verbatim)
    for answer in ("OLD", "new"):
        verbatim.conversations.append_turn(
            conversation_id, user_content="a", assistant={"content": answer}, idempotency_key="k"
        )
    assert refresh(verbatim, conversation_id) == ("updated", "a|new", 3)


@pytest.mark.conforms("T24", "T2")
def test_an_answer_that_replaces_one_that_was_summarised_has_the_summary_made_anew(verbatim: longmind.Context) -> None:
    conversation_id = begin(verbatim)

    def answer(text: str) -> None:
        verbatim.conversations.append_turn(
            conversation_id, user_content="a", assistant={"content": text}, idempotency_key="k"
        )

    answer("OLD")
    say(verbatim, conversation_id, ("b", "c"))
    assert refresh(verbatim, conversation_id) == ("updated", "a|OLD|b|c", 4)
    answer("new")
    assert refresh(verbatim, conversation_id) == ("updated", "a|b|c|new", 5)


@pytest.mark.conforms("T24")
def test_a_turn_that_waits_for_its_answer_is_left_for_later(verbatim: longmind.Context) -> None:
    conversation_id = begin(verbatim, ("a", "b"))
    verbatim.conversations.append_user_message(conversation_id, "c")
    assert refresh(verbatim, conversation_id) == ("updated", "a|b", 2)
    assert refresh(verbatim, conversation_id) == ("unchanged", "a|b", 2)
    verbatim.conversations.append_assistant_turn(conversation_id, "d")
    assert refresh(verbatim, conversation_id) == ("updated", "a|b|c|d", 4)


@pytest.mark.conforms("T24")
def test_a_turn_that_waits_for_a_tool_or_for_what_is_made_of_its_result_is_left_for_later(
    verbatim: longmind.Context,
) -> None:
    conversation_id = begin(verbatim, ("a", "b"))
    talk = verbatim.conversations
    talk.append_user_message(conversation_id, "c")
    talk.append_assistant_turn(conversation_id, TOOL_USE, stop_reason="tool_use")
    assert refresh(verbatim, conversation_id) == ("updated", "a|b", 2)
    talk.append_tool_result(conversation_id, "call-1", "result")
    assert refresh(verbatim, conversation_id) == ("unchanged", "a|b", 2)
    talk.append_assistant_turn(conversation_id, "d")
    assert refresh(verbatim, conversation_id) == ("updated", "a|b|c|result|d", 6)


@pytest.mark.conforms("T24")
def test_a_turn_that_was_left_without_an_answer_counts_once_another_has_begun(verbatim: longmind.Context) -> None:
    conversation_id = begin(verbatim)
    verbatim.conversations.append_user_message(conversation_id, "a")
    assert refresh(verbatim, conversation_id) == ("skipped_empty", None, 0)
    verbatim.conversations.append_user_message(conversation_id, "b")
    assert refresh(verbatim, conversation_id) == ("updated", "a", 1)


@pytest.mark.conforms("T24")
def test_an_earlier_turn_that_is_answered_again_meanwhile_is_not_cut_in_half(verbatim: longmind.Context) -> None:
    conversation_id = begin(verbatim)
    again = {"user_content": "a", "idempotency_key": "k"}
    verbatim.conversations.append_turn(conversation_id, assistant={"content": "OLD"}, **again)  # type: ignore[arg-type]
    verbatim.conversations.append_user_message(conversation_id, "b")
    verbatim.conversations.append_turn(conversation_id, assistant={"content": "new"}, **again)  # type: ignore[arg-type]
    assert refresh(verbatim, conversation_id) == ("skipped_empty", None, 0)
    verbatim.conversations.append_assistant_turn(conversation_id, "c")
    assert refresh(verbatim, conversation_id) == ("updated", "a|b|new|c", 5)


def test_a_greeting_before_the_first_turn_is_a_turn_of_its_own(verbatim: longmind.Context) -> None:
    conversation_id = begin(verbatim)
    verbatim.conversations.append_assistant_turn(conversation_id, "Welcome")
    assert refresh(verbatim, conversation_id) == ("updated", "Welcome", 1)
    verbatim.conversations.append_user_message(conversation_id, "a")
    assert refresh(verbatim, conversation_id) == ("unchanged", "Welcome", 1)


def test_a_closed_conversation_can_be_summarised(verbatim: longmind.Context) -> None:
    conversation_id = begin(verbatim, ("a", "b"))
    verbatim.conversations.close_conversation(conversation_id)
    assert refresh(verbatim, conversation_id) == ("updated", "a|b", 2)


def test_every_version_is_kept_with_its_time_and_told_as_a_change(database_url: str) -> None:
    clock = SettableClock()
    with longmind.open(database_url, summariser=Verbatim(), clock=clock, embedder=None) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        conversation_id = begin(ctx, ("a", "b"))
        times = [clock()]
        for turn in (("c", "d"), ("e", "f")):
            clock.advance(10)
            refresh(ctx, conversation_id)
            times.append(clock())
            clock.advance(10)
            say(ctx, conversation_id, turn)

        def known(at: int | None) -> tuple[str | None, int]:
            standing = engine._database.read(ctx.scope, summaries.find_latest, conversation_id, at)
            return standing.text, standing.until

        assert [known(at) for at in times] == [(None, 0), ("a|b", 2), ("a|b|c|d", 4)]
        assert known(None) == ("a|b|c|d", 4)
        told = [change.data for change in engine.follow() if change.kind == "conversation.summarised"]
        assert told == [{"untilSeq": 2, "madeBy": "verbatim@1"}, {"untilSeq": 4, "madeBy": "verbatim@1"}]


@pytest.mark.conforms("T24")
def test_a_refresh_that_was_overtaken_by_one_that_went_as_far_changes_nothing(database_url: str) -> None:
    with opened(database_url) as other:
        conversation_id = begin(other, ("a", "b"))
        with opened(database_url, Verbatim(before=lambda: refresh(other, conversation_id))) as ctx:
            assert refresh(ctx, conversation_id) == ("unchanged", "a|b", 2)


@pytest.mark.conforms("T24")
def test_a_refresh_that_was_overtaken_by_a_shorter_one_goes_on_from_there(database_url: str) -> None:
    with opened(database_url) as other:
        conversation_id = begin(other, ("a", "b"))
        slow = threading.Event()

        class Overtaken(Verbatim):
            name = "overtaken@1"

        def be_overtaken() -> None:
            if not slow.is_set():
                slow.set()
                # What the other refresh covers ends before what this one has read.
                found = other_engine._database.read(other.scope, summaries.read_unsummarised, conversation_id, 1)
                new = summaries.NewSummary("a|b", 2, "faster@1")
                other_engine._database.write(
                    other.scope, summaries.replace, other.scope, conversation_id, found.standing, new, 1
                )

        with longmind.open(database_url, embedder=None) as other_engine:
            say(other, conversation_id, ("c", "d"))
            with opened(database_url, Overtaken(be_overtaken)) as ctx:
                assert refresh(ctx, conversation_id) == ("updated", "a|b|c|d", 4)


@pytest.mark.conforms("T24")
def test_refreshes_that_race_with_appends_lose_nothing_and_never_go_backwards(database_url: str) -> None:
    turns = 12
    with longmind.open(database_url, summariser=Verbatim(), embedder=None) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        conversation_id = begin(ctx)
        done = threading.Event()
        seen: list[list[int]] = [[], []]

        def race(places: list[int]) -> None:
            while not done.is_set():
                places.append(ctx.conversations.refresh_rolling_summary(conversation_id).rolling_summary_until_seq)

        racers = [threading.Thread(target=race, args=(places,)) for places in seen]
        for racer in racers:
            racer.start()
        for number in range(turns):
            say(ctx, conversation_id, (f"q{number}", f"a{number}"))
        done.set()
        for racer in racers:
            racer.join()
        ctx.conversations.refresh_rolling_summary(conversation_id)
        conversation = ctx.conversations.get_conversation(conversation_id)
        assert conversation is not None
        told = "|".join(f"q{number}|a{number}" for number in range(turns))
        assert (conversation.rolling_summary, conversation.rolling_summary_until_seq) == (told, 2 * turns)
        for places in seen:
            assert places == sorted(places)
            assert all(place % 2 == 0 for place in places)
        changes = [change.data["untilSeq"] for change in engine.follow() if change.kind == "conversation.summarised"]
        assert changes == sorted(set(changes))
