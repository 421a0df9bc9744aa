"""The rules extractor: hand-written cases, and properties that hold for any text."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longmind.extraction.candidate import SourceMessage
from longmind.extraction.rules import RulesExtractor
from tests.extraction.rule_cases import Case, fits, read_cases

_CASES = read_cases()
_ROLES = st.sampled_from(("user", "assistant", "tool"))
_WORDS = st.lists(
    st.sampled_from(
        [
            *"I my we you always never please don't prefer love hate live in Oslo Anna sister she her".split(),
            *'and to if were yesterday three times a week "quoted . ? ! , : ; - ( 1. > ``` Caroline: is was'.split(),
            *("\n", "\U0001f642", "\u2019", "have", "been", "07:30", "$5", "jag", "och", "[photo: x]"),
        ]
    ),
    max_size=30,
).map(" ".join)
_TEXTS = st.one_of(st.text(max_size=300), _WORDS)
_MESSAGES = st.lists(st.tuples(_ROLES, _TEXTS, st.booleans()), max_size=6)


def _messages(given_: list[tuple[str, str, bool]]) -> list[SourceMessage]:
    return [
        SourceMessage(str(place), role, text, 1_715_162_400_000_000 + place, read_only)  # type: ignore[arg-type]
        for place, (role, text, read_only) in enumerate(given_)
    ]


@pytest.mark.parametrize("case", _CASES, ids=[case.name for case in _CASES])
def test_a_conversation_gives_what_a_careful_reader_would_note(case: Case):
    candidates = RulesExtractor().extract(case.messages, "extraction-v1").candidates
    shown = "\n".join(map(repr, candidates))
    for wanted in case.expect:
        assert any(fits(each, wanted) for each in candidates), f"nothing is {wanted} among\n{shown}"
    for unwanted in case.forbid:
        assert not any(fits(each, unwanted) for each in candidates), f"something is {unwanted} among\n{shown}"
    if case.count is not None:
        assert len(candidates) == case.count, shown


def test_there_are_many_cases_and_no_two_have_one_name():
    assert len(_CASES) >= 200
    assert len({case.name for case in _CASES}) == len(_CASES)


@given(_MESSAGES)
def test_any_text_is_read_and_only_the_given_messages_are_cited(given_):
    messages = _messages(given_)
    ids = {message.id for message in messages if not message.read_only}
    for candidate in RulesExtractor().extract(messages, "extraction-v1").candidates:
        assert candidate.text.strip()
        assert set(candidate.source_message_ids) <= ids
        assert candidate.source_message_ids
        assert 1 <= candidate.importance <= 5
        assert 0 < candidate.confidence <= 1
        assert len(candidate.search_context) >= 4


@given(_MESSAGES)
def test_only_a_user_or_a_speaker_with_a_name_states_facts(given_):
    messages = _messages(given_)
    role_of = {message.id: message.role for message in messages}
    for candidate in RulesExtractor().extract(messages, "extraction-v1").candidates:
        assert candidate.kind != "PATTERN"
        assert candidate.trust == role_of[candidate.source_message_ids[0]]
        if candidate.trust != "user":
            assert candidate.kind in ("EPISODE", "FACT")
            assert candidate.speaker not in ("assistant", "tool")


@given(_MESSAGES)
def test_the_same_messages_give_the_same_candidates(given_):
    messages = _messages(given_)
    first = RulesExtractor().extract(messages, "extraction-v1").candidates
    assert RulesExtractor().extract(messages, "extraction-v2").candidates == first


@pytest.mark.patient
@pytest.mark.parametrize(
    "part", ["I, ", "I live and work and ", "if I were ", "I have 3 4 5 ", "Anna's ", 'a "', "the "]
)
def test_a_sentence_without_an_end_is_read_in_a_time_that_grows_with_it(part):
    messages = {times: _messages([("user", part * times, False)]) for times in (1_000, 10_000)}

    def seconds(times: int) -> float:
        began = process_time()
        RulesExtractor().extract(messages[times], "extraction-v1")
        return process_time() - began

    # Ten times the text would take a hundred times as long if the work grew with its square. The first of several is
    # slow for other reasons, and each may be disturbed.
    short = min(seconds(1_000) for _ in range(5))
    assert min(seconds(10_000) for _ in range(3)) < 40 * max(short, 0.005)


def test_the_extractor_is_named_rules():
    assert RulesExtractor().name == "rules"


def test_the_messages_around_a_memory_are_its_search_context():
    texts = ["I moved to Oslo.", "Nice, and do you like it there?", "I love the fjord.", "It is lovely.", "I also ski."]
    messages = _messages([("user", text, False) for text in texts])
    candidates = RulesExtractor().extract(messages, "extraction-v1").candidates
    fjord = next(each for each in candidates if "fjord" in each.text)
    assert fjord.search_context == (texts[1], texts[3], texts[0], texts[4])
    assert fjord.speaker == "user"
