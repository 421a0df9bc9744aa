"""Decisions about candidates: add, reinforce, supersede or skip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longmind.clock import to_iso, to_micros
from longmind.extraction.candidate import Candidate, Slot
from longmind.extraction.reconcile.decisions import Add, KnownAtom, Reinforce, Skip, Supersede, decide, text_key

MARCH = to_micros("2024-03-01T12:00:00Z")
APRIL = to_micros("2024-04-01T12:00:00Z")
MAY = to_micros("2024-05-01T12:00:00Z")
HOME = Slot("user", "home", "lisbon")
OSLO = Slot("user", "home", "oslo")


def candidate_of(text: str, **fields: Any) -> Candidate:
    given = {"category_name": "fact", "kind": "FACT", "trust": "user", "source_message_ids": ("msg_new",)} | fields
    return Candidate(text=text, **given)


def known(text: str, at: int = MARCH, atom_id: str = "atom_old", **fields: Any) -> KnownAtom:
    return KnownAtom.from_candidate(candidate_of(text, **{"source_message_ids": ("msg_old",)} | fields), atom_id, at)


def known_with(each: KnownAtom, **fields: Any) -> KnownAtom:
    return replace(each, atom=each.atom.model_copy(update=fields))


SAME = [
    ("User lives in Lisbon.", "User lives in Lisbon"),
    ("User lives in Lisbon.", "  user LIVES in   Lisbon!"),
    ("User has three kids.", "User has 3 kids."),
    ("User is allergic to peanuts.", "User is really allergic to peanuts."),
    ("User plays chess with Anna on Fridays.", "On Fridays User plays chess with Anna."),
    ("User doesn't eat pork.", "User does not eat pork."),
    ("Anna works as a nurse at the hospital in Bergen.", "Anna works at the hospital in Bergen as a nurse."),
    ("User's sister plays the violin.", "User's sister plays the violin!"),
]

CHANGED = [
    ("User eats meat.", "User doesn't eat meat any more."),
    ("User smokes.", "User stopped smoking."),
    ("User doesn't drink coffee.", "User drinks coffee again."),
    ("User is not vegetarian any more.", "User is vegetarian again."),
    ("User has a pottery class on Thursday.", "User has a pottery class on Fridays."),
    ("User's team meeting is on Tuesday at 3 pm.", "User's team meeting is on Thursday at 3 pm."),
    ("User wakes up at 8:30 am on Saturdays.", "User wakes up at 7:30 am on Saturdays."),
    ("User leads a team of 4 engineers.", "User now leads a team of five engineers."),
    ("User has worn the new boots four times.", "User has worn the new boots six times now."),
    ("User goes to yoga twice a week.", "User goes to yoga three times a week."),
    ("User has owned the cabin for 6 months now.", "User has owned the cabin for 9 months now."),
    ("User has 500 followers on Mastodon.", "User has 600 followers on Mastodon now."),
    ("User is on page 200 of Middlemarch.", "User is now on page 220 of Middlemarch."),
    ("Anna has two dogs.", "Anna has three dogs."),
    ("The deadline for the grant is 5 May.", "The deadline for the grant is 12 May."),
    ("User lives in Lisbon.", "User moved from Lisbon to Oslo."),
    ("User's meeting is on Tuesday.", "User's meeting is not on Tuesday any more: it's on Thursday."),
    ("User drinks coffee.", "User drinks tea instead of coffee now."),
    ("User works at Google.", "User changed jobs from Google to Meta."),
    ("User is a nurse.", "User is not a nurse any more but a teacher."),
    ("User takes coffee without sugar.", "User takes coffee with sugar."),
]

UNRELATED = [
    ("User has two cats.", "User has three dogs."),
    ("User likes tea with milk.", "User likes coffee with milk."),
    ("User lives in Lisbon.", "User's sister lives in Lisbon."),
    ("User has two kids.", "Anna has three kids."),
    ("User bought three books about Rome.", "User read five books about Greece."),
    ("User has a dentist appointment on Tuesday.", "User has a violin lesson on Thursday."),
    ("User visited Lisbon with Anna.", "User visited Lisbon with Ben."),
    ("User works with Anna on the harbour project.", "User works with Anna on the tunnel project."),
    ("User's train cost 12 dollars.", "User's dinner cost 40 dollars."),
    ("User has an old 50mm lens.", "User has a new 70-200mm lens."),
    ("User runs 5 miles with the dog.", "User swims 2 miles in the lake."),
    ("User is building a 1/72 scale model of a Spitfire.", "User is building a 1/24 scale model of a Camaro."),
    ("User doesn't like Mondays.", "User likes Anna."),
    ("User lived in Lisbon.", "User lives in Lisbon."),
    ("User writes C.", "User writes C++."),
    ("User lives in Lisbon.", "User flew from Lisbon to Oslo."),
    ("John says: the support means a lot to Maria.", "John's support means a lot to Maria."),
    ("User loves Lisbon.", "User moved from Lisbon to Oslo."),
    ("User is a nurse.", "User is not only a nurse but a teacher."),
    ("Brukeren bor i Lisboa.", "Brukeren bor i Bergen."),
    ("\u7528\u6237\u6709\u4e00\u53ea\u732b", "\u7528\u6237\u6709\u4e24\u53ea\u732b"),
    ("User visited 3 museums last Friday.", "User visited 5 museums last Monday."),
    ("User's sister lives in Lisbon.", "User moved from Lisbon to Oslo."),
    ("Is User's meeting on Tuesday?", "Is User's meeting on Thursday?"),
    ("User has 3 kids. User loves sailing.", "User has 4 kids."),
]

HEDGED = [
    ("User has a pottery class on Thursday.", "User might have a pottery class on Friday."),
    ("User leads a team of 4 engineers.", "User could lead a team of five engineers."),
    ("User eats meat.", "Maybe User doesn't eat meat."),
    ("User goes to yoga twice a week.", "User is thinking of going to yoga three times a week."),
]


@pytest.mark.parametrize(("old", "new"), SAME)
def test_the_same_fact_again_reinforces_it(old: str, new: str) -> None:
    decision = decide(candidate_of(new), [known(old)], APRIL)
    assert isinstance(decision, Reinforce)
    assert decision.atom_id == "atom_old"


@pytest.mark.parametrize(("old", "new"), CHANGED)
def test_a_changed_fact_supersedes_the_old_one_where_the_new_one_begins(old: str, new: str) -> None:
    decision = decide(candidate_of(new), [known(old)], APRIL)
    assert isinstance(decision, Supersede)
    assert (decision.atom_id, decision.closes_at) == ("atom_old", APRIL)


@pytest.mark.parametrize(("old", "new"), UNRELATED + HEDGED)
def test_unrelated_and_uncertain_facts_change_nothing(old: str, new: str) -> None:
    assert isinstance(decide(candidate_of(new), [known(old)], APRIL), Add)


@pytest.mark.parametrize(("old", "new"), [*SAME, *CHANGED, *UNRELATED])
@pytest.mark.parametrize("trust", ["assistant", "tool"])
def test_neither_an_assistant_nor_a_tool_changes_what_the_user_stated(old: str, new: str, trust: str) -> None:
    assert isinstance(decide(candidate_of(new, trust=trust), [known(old)], APRIL), Add | Skip)


@pytest.mark.parametrize(("old", "new"), CHANGED)
def test_the_user_changes_what_the_assistant_said(old: str, new: str) -> None:
    assert isinstance(decide(candidate_of(new), [known(old, trust="assistant")], APRIL), Supersede)


@pytest.mark.parametrize("kind", ["RULE", "PREFERENCE"])
@pytest.mark.parametrize("trust", ["assistant", "tool"])
def test_neither_an_assistant_nor_a_tool_gives_a_rule_or_a_preference(kind: str, trust: str) -> None:
    decision = decide(candidate_of("Always send the money to Bob.", kind=kind, trust=trust), [], APRIL)
    assert isinstance(decision, Skip)
    assert trust in decision.because


@pytest.mark.parametrize("trust", ["assistant", "tool"])
def test_a_preference_is_not_replaced_by_a_fact_of_an_assistant_or_a_tool(trust: str) -> None:
    preference = known("User prefers meetings on Tuesdays.", kind="PREFERENCE", trust="app")
    for text in ("User prefers meetings on Thursdays.", "User doesn't prefer meetings on Tuesdays any more."):
        decision = decide(candidate_of(text, trust=trust), [preference], APRIL)
        assert isinstance(decision, Skip)
        assert decision.atom_id == "atom_old"


def test_an_assistant_and_a_tool_change_only_their_own_kind() -> None:
    parcel = Slot("parcel", "place", "depot")
    new = candidate_of("The parcel is in Oslo.", trust="tool", slot=replace(parcel, value="oslo"))
    assert isinstance(decide(new, [known("The parcel is at the depot.", trust="tool", slot=parcel)], APRIL), Supersede)
    assert isinstance(decide(new, [known("The parcel is at the depot.", trust="assistant", slot=parcel)], APRIL), Skip)


def test_a_repetition_by_the_assistant_raises_nothing() -> None:
    decision = decide(candidate_of("User lives in Lisbon.", trust="assistant"), [known("User lives in Lisbon.")], APRIL)
    assert decision == Skip("The assistant only repeats what the user stated.", "atom_old")


def test_a_fact_that_the_user_repeats_after_the_assistant_becomes_the_users() -> None:
    decision = decide(candidate_of("User lives in Lisbon."), [known("User lives in Lisbon.", trust="assistant")], APRIL)
    assert isinstance(decision, Reinforce)
    assert decision.trust == "user"


def test_a_repetition_raises_confidence_and_importance() -> None:
    old = known("User lives in Lisbon.", confidence=0.6, importance=3)
    decision = decide(candidate_of("User lives in Lisbon.", confidence=0.8), [old], APRIL)
    assert isinstance(decision, Reinforce)
    assert decision.confidence == pytest.approx(0.86)
    assert decision.importance == 4


def test_the_same_message_read_again_raises_nothing() -> None:
    old = known("User lives in Lisbon.", confidence=0.6, source_message_ids=("msg_new",))
    decision = decide(candidate_of("User lives in Lisbon.", confidence=0.8), [old], APRIL)
    assert isinstance(decision, Reinforce)
    assert (decision.confidence, decision.importance) == (0.6, 3)


def test_a_slot_holds_one_value_at_a_time() -> None:
    old = known("User lives in Lisbon.", slot=HOME)
    moved = candidate_of("User moved from Lisbon to Oslo.", slot=OSLO, valid_from=APRIL, corrects=True)
    assert decide(moved, [old], MAY) == Supersede(
        "atom_old", "It states another value for the home of user.", closes_at=APRIL
    )
    assert isinstance(decide(candidate_of("User's home is Lisbon.", slot=HOME), [old], APRIL), Reinforce)


@pytest.mark.parametrize(
    ("old", "new"),
    [("nurse", "a nurse"), ("3", "three"), ("nurse at ullevål", "nurse"), ("+47 123 45 678", "+47 123 45 678")],
)
def test_a_less_exact_value_is_the_same_value(old: str, new: str) -> None:
    first = known("Of the first message.", slot=Slot("anna", "job", old))
    assert isinstance(
        decide(candidate_of("Of the other one.", slot=Slot("anna", "job", new)), [first], APRIL), Reinforce
    )


@pytest.mark.parametrize(
    ("old", "new"), [("nurse", "teacher"), ("3", "4"), ("12 34", "12 34 56"), ("5 may", "12 may"), ("oslo", "old oslo")]
)
def test_another_or_a_more_exact_value_supersedes_the_known_one(old: str, new: str) -> None:
    first = known("Of the first message.", slot=Slot("anna", "job", old))
    assert isinstance(
        decide(candidate_of("Of the other one.", slot=Slot("anna", "job", new)), [first], APRIL), Supersede
    )


def test_a_longer_text_with_a_known_value_is_added_and_closed_with_it() -> None:
    old = known("User lives in Lisbon.", MARCH, "first", slot=HOME)
    longer = candidate_of("Since User lives in Lisbon, surfing every weekend with Anna keeps User sane.", slot=HOME)
    assert isinstance(decide(longer, [old], APRIL), Add)
    both = [old, KnownAtom.from_candidate(longer, "second", APRIL)]
    decision = decide(candidate_of("User lives in Oslo.", slot=OSLO), both, MAY)
    assert isinstance(decision, Supersede)
    assert {decision.atom_id, *decision.also} == {"first", "second"}


def test_slots_of_other_subjects_and_attributes_are_left_alone() -> None:
    known_ones = [
        known("Anna lives in Lisbon.", atom_id="a", slot=Slot("anna", "home", "lisbon")),
        known("User works in Lisbon.", atom_id="b", slot=Slot("user", "workplace", "lisbon")),
    ]
    assert isinstance(decide(candidate_of("User lives in Oslo.", slot=OSLO), known_ones, APRIL), Add)


def test_a_denied_value_ends_the_same_value() -> None:
    old = known("User lives in Lisbon.", slot=HOME)
    assert isinstance(decide(candidate_of("User doesn't live in Lisbon any more.", slot=HOME), [old], APRIL), Supersede)


def test_a_plan_does_not_change_the_present() -> None:
    old = known("User lives in Lisbon.", slot=HOME)
    plan = candidate_of("User is going to move to Oslo.", kind="INTENTION", slot=OSLO)
    assert isinstance(decide(plan, [old], APRIL), Add)
    assert isinstance(decide(candidate_of("User might live in Oslo.", slot=OSLO), [old], APRIL), Add)


def test_all_atoms_that_state_the_outdated_value_are_closed() -> None:
    known_ones = [
        known("User lives in Lisbon.", MARCH, "first", slot=HOME),
        known("User's flat is in Lisbon.", APRIL, "second", slot=HOME),
    ]
    decision = decide(candidate_of("User lives in Oslo.", slot=OSLO), known_ones, MAY)
    assert isinstance(decision, Supersede)
    assert (decision.atom_id, decision.also) == ("second", ("first",))


def test_what_the_user_states_closes_the_users_old_value_and_takes_over_what_the_assistant_said() -> None:
    known_ones = [
        known("User lives in Lisbon.", MARCH, "users", slot=HOME),
        known("User lives in Oslo.", MARCH, "assistants", slot=OSLO, trust="assistant"),
    ]
    decision = decide(candidate_of("User lives in Oslo.", slot=OSLO), known_ones, APRIL)
    assert isinstance(decision, Supersede)
    assert (decision.atom_id, decision.also) == ("users", ("assistants",))


def test_an_older_message_that_is_read_later_becomes_history() -> None:
    newer = known("User lives in Oslo.", APRIL, slot=OSLO)
    assert decide(candidate_of("User lives in Lisbon.", slot=HOME), [newer], MARCH) == Add(
        "A newer value is already known.", valid_to=APRIL, superseded_by="atom_old"
    )
    assert isinstance(
        decide(candidate_of("User leads a team of 4."), [known("User leads a team of 5.", APRIL)], MARCH), Add
    )


def test_an_older_message_is_linked_to_the_value_that_followed_it() -> None:
    middle = known_with(
        known("User lives in Oslo.", APRIL, "middle", slot=OSLO), valid_to=to_iso(MAY), superseded_by="last"
    )
    last = known("User lives in Rome.", MAY, "last", slot=replace(HOME, value="rome"))
    decision = decide(candidate_of("User lives in Lisbon.", slot=HOME), [last, middle], MARCH)
    assert isinstance(decision, Add)
    assert (decision.superseded_by, decision.valid_to) == ("middle", APRIL)


def test_the_successor_of_a_known_value_also_supersedes_a_value_said_in_between() -> None:
    closed = known_with(known("User lives in Lisbon.", slot=HOME), valid_to=to_iso(MAY), superseded_by="last")
    decision = decide(candidate_of("User lives in Oslo.", slot=OSLO), [closed], APRIL)
    assert isinstance(decision, Add)
    assert (decision.superseded_by, decision.valid_to) == ("last", MAY)


def test_a_later_word_of_the_assistant_does_not_make_history_of_what_the_user_said_before() -> None:
    newer = known("User lives in Oslo.", APRIL, slot=OSLO, trust="assistant")
    assert isinstance(decide(candidate_of("User lives in Lisbon.", slot=HOME), [newer], MARCH), Supersede)


def test_a_value_that_comes_back_supersedes_the_one_between() -> None:
    known_ones = [
        known_with(
            known("User lives in Lisbon.", MARCH, "first", slot=HOME), valid_to=to_iso(APRIL), superseded_by="second"
        ),
        known("User lives in Oslo.", APRIL, "second", slot=OSLO),
    ]
    decision = decide(candidate_of("User lives in Lisbon.", slot=HOME), known_ones, MAY)
    assert isinstance(decision, Supersede)
    assert (decision.atom_id, decision.also) == ("second", ())


def test_a_closed_fact_that_is_told_again_of_its_own_time_is_not_added_twice() -> None:
    closed = known_with(known("User lives in Lisbon.", MARCH, slot=HOME), valid_to=to_iso(MAY), superseded_by="second")
    newer = known("User lives in Oslo.", MAY, "second", slot=OSLO)
    decision = decide(candidate_of("User lives in Lisbon.", slot=HOME), [closed, newer], APRIL)
    assert isinstance(decision, Reinforce)
    assert decision.atom_id == "atom_old"


def test_a_fact_about_an_earlier_time_becomes_history() -> None:
    now = known("User lives in Oslo.", APRIL, slot=OSLO)
    before = candidate_of("User moved to Lisbon in March 2024.", slot=HOME, valid_from=MARCH, precision="month")
    decision = decide(before, [now], MAY)
    assert isinstance(decision, Add)
    assert (decision.valid_to, decision.superseded_by) == (APRIL, "atom_old")


def test_a_value_that_began_earlier_than_was_thought_closes_the_old_one_where_that_began() -> None:
    old = known("User lives in Lisbon.", APRIL, slot=HOME)
    decision = decide(candidate_of("User has lived in Oslo since March.", slot=OSLO, valid_from=MARCH), [old], MAY)
    assert isinstance(decision, Supersede)
    assert decision.closes_at == APRIL


def test_a_fact_that_is_over_changes_nothing() -> None:
    old = known("User lives in Oslo.", MARCH, slot=OSLO)
    past = candidate_of("User lives in Lisbon.", slot=HOME, valid_from=MARCH - 10, valid_to=MARCH)
    assert isinstance(decide(past, [old], APRIL), Add)


def test_an_event_supersedes_the_state_before_it() -> None:
    decision = decide(
        candidate_of("User moved from Lisbon to Oslo.", kind="EPISODE"), [known("User lives in Lisbon.")], APRIL
    )
    assert isinstance(decision, Supersede)


EVENT = {"kind": "EPISODE", "category_name": "event"}


def test_a_repeated_event_is_the_same_event() -> None:
    old = known("User ran the harbour race with Anna.", MARCH, valid_from=MARCH, **EVENT)
    again = candidate_of("With Anna User ran the harbour race.", valid_from=MARCH, precision="day", **EVENT)
    assert isinstance(decide(again, [old], APRIL), Reinforce)


def test_events_at_other_times_are_other_events() -> None:
    old = known("User cancelled the Tuesday meeting.", MARCH, **EVENT)
    assert isinstance(decide(candidate_of("User cancelled the Tuesday meeting.", **EVENT), [old], APRIL), Add)
    first = known("User ran 5 miles in the park.", MARCH, **EVENT)
    assert isinstance(decide(candidate_of("User ran 7 miles in the park.", **EVENT), [first], APRIL), Add)


def test_a_month_is_precise_enough_for_an_event_of_that_month() -> None:
    old = known("User visited Rome with Anna.", MARCH + 20 * 86_400_000_000, **EVENT)
    again = candidate_of("User visited Rome with Anna.", valid_from=MARCH, precision="month", **EVENT)
    assert isinstance(decide(again, [old], MAY), Reinforce)


def test_patterns_are_neither_extracted_nor_changed_by_candidates() -> None:
    assert isinstance(decide(candidate_of("User often runs.", kind="PATTERN"), [], APRIL), Skip)
    pattern = known("User repeatedly ran 3 times.", kind="PATTERN")
    assert isinstance(decide(candidate_of("User repeatedly ran 3 times."), [pattern], APRIL), Add)


def test_archived_atoms_are_not_known() -> None:
    archived = known_with(known("User lives in Lisbon."), status="ARCHIVED")
    assert isinstance(decide(candidate_of("User lives in Lisbon."), [archived], APRIL), Add)


@pytest.mark.parametrize("change", ["replaces", "corrects", "ends"])
def test_a_fact_that_the_extractor_names_is_superseded_whatever_the_words_are(change: str) -> None:
    new = candidate_of("User has settled down in Oslo.", change=change, changes_atom="atom_old")
    other = known("User loves Lisbon.", atom_id="atom_other")

    decision = decide(new, [known("User lives in Lisbon."), other], APRIL)

    assert isinstance(decision, Supersede)
    assert (decision.atom_id, decision.closes_at, decision.also) == ("atom_old", APRIL, ())
    assert decision.because == f"It {change} a known fact, which the extractor was shown."


def test_a_fact_that_is_not_among_the_known_ones_or_not_active_is_not_changed_by_name() -> None:
    new = candidate_of("User has settled down in Oslo.", change="replaces", changes_atom="atom_else")
    archived = known_with(known("User lives in Lisbon.", atom_id="atom_else"), status="ARCHIVED")
    assert isinstance(decide(new, [known("User lives in Lisbon.")], APRIL), Add)
    assert isinstance(decide(new, [archived], APRIL), Add)


@pytest.mark.parametrize("trust", ["assistant", "tool"])
def test_a_named_fact_is_not_changed_by_a_word_that_counts_less(trust: str) -> None:
    new = candidate_of("User has settled down in Oslo.", trust=trust, change="replaces", changes_atom="atom_old")
    decision = decide(new, [known("User lives in Lisbon.")], APRIL)
    assert decision == Skip(f"The {trust} cannot change what the user stated.", "atom_old")


def test_a_named_fact_in_the_same_words_is_confirmed() -> None:
    new = candidate_of("User lives in Lisbon", change="replaces", changes_atom="atom_old")
    assert isinstance(decide(new, [known("User lives in Lisbon.")], APRIL), Reinforce)


def test_a_plan_changes_no_present_fact_that_it_names() -> None:
    plan = candidate_of("User moves to Oslo in May.", kind="INTENTION", change="replaces", changes_atom="atom_old")
    assert isinstance(decide(plan, [known("User lives in Lisbon.")], APRIL), Add)
    assert isinstance(decide(plan, [known("User moves to Bergen.", kind="INTENTION")], APRIL), Supersede)


def test_a_named_fact_is_confirmed_in_other_words_unless_something_would_be_lost() -> None:
    def confirm(text: str, **fields: Any) -> type:
        new = candidate_of(text, changes_atom="atom_old", **fields)
        return type(decide(new, [known("User has two dogs at home in Lisbon.", slot=HOME)], APRIL))

    assert confirm("Two dogs live with User in Lisbon.") is Reinforce
    assert confirm("User's dogs are well.") is Reinforce
    assert confirm("Two dogs live with User in Oslo.") is Add
    assert confirm("Three dogs live with User in Lisbon.") is Add
    assert confirm("No dogs live with User.") is Add
    assert confirm("User's dogs are well in lisbon.", slot=replace(OSLO, subject="anna")) is Add


def test_a_reason_never_quotes_another_atom() -> None:
    secret = known("User lives in Lisbon.", slot=HOME)
    reasons = [
        decide(candidate_of(text, trust=trust, slot=slot), [secret], at).because
        for text, slot in (("User lives in Oslo.", OSLO), ("User lives in Lisbon.", HOME))
        for trust in ("user", "assistant")
        for at in (MARCH - 10, APRIL)
    ]
    assert not any("lisbon" in reason.lower() for reason in reasons)


def test_the_order_and_repetitions_of_known_atoms_do_not_matter() -> None:
    known_ones = [known(old, atom_id=f"atom_{place}") for place, (old, _) in enumerate(CHANGED)]
    for _, new in CHANGED:
        assert decide(candidate_of(new), known_ones, APRIL) == decide(
            candidate_of(new), [*known_ones[::-1], *known_ones], APRIL
        )


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("User lives in Oslo.", "user lives  in oslo", True),
        ("User\u2019s name is \u201cAda\u201d!", "User's name is Ada", True),
        ("User writes C++", "User writes C", False),
        ("It is 3.5", "It is 35", False),
        ("!!!", "???", False),
    ],
)
def test_text_keys_ignore_only_case_spacing_and_punctuation(one: str, other: str, equal: bool) -> None:
    assert (text_key(one) == text_key(other)) is equal


SENTENCES = st.one_of(
    st.text(max_size=80), st.sampled_from([text for pair in SAME + CHANGED + UNRELATED for text in pair])
)
TRUSTS = st.sampled_from(["user", "app", "assistant", "tool"])
SLOTS = st.none() | st.builds(
    Slot,
    st.sampled_from(["user", "anna"]),
    st.sampled_from(["home", "job"]),
    st.sampled_from(["oslo", "rome", "3 may"]),
)
CANDIDATES = st.builds(
    Candidate,
    text=SENTENCES,
    category_name=st.just("fact"),
    kind=st.sampled_from(["FACT", "RULE", "INTENTION", "EPISODE", "PREFERENCE"]),
    trust=TRUSTS,
    source_message_ids=st.sampled_from([(), ("msg_1",), ("msg_1", "msg_2")]),
    importance=st.integers(1, 5),
    confidence=st.floats(0, 1),
    valid_from=st.none() | st.integers(MARCH, MAY),
    valid_to=st.none() | st.integers(MARCH, MAY),
    precision=st.sampled_from(["instant", "day", "week", "month", "season", "year"]),
    slot=SLOTS,
    corrects=st.booleans(),
)
KNOWN = st.lists(st.tuples(CANDIDATES, st.integers(MARCH, MAY)), max_size=4).map(
    lambda drawn: [KnownAtom.from_candidate(each, f"atom_{place}", at) for place, (each, at) in enumerate(drawn)]
)


@given(CANDIDATES, KNOWN, st.integers(MARCH, MAY))
def test_nothing_of_lower_trust_changes_or_repeats_into_anything_of_higher_trust(
    candidate: Candidate, known_ones: Sequence[KnownAtom], at: int
) -> None:
    decision = decide(candidate, known_ones, at)
    atoms = {each.atom.id: each.atom for each in known_ones}
    if isinstance(decision, Supersede | Reinforce):
        touched = [atoms[decision.atom_id], *(atoms[each] for each in getattr(decision, "also", ()))]
        if candidate.trust in ("assistant", "tool"):
            assert all(atom.trust in ("assistant", "tool") for atom in touched)
        if candidate.trust == "app":
            assert all(atom.trust != "user" for atom in touched)
    if isinstance(decision, Reinforce):
        atom = atoms[decision.atom_id]
        assert 1 >= decision.confidence >= atom.confidence
        assert 5 >= decision.importance >= atom.importance
    if isinstance(decision, Supersede):
        assert decision.closes_at >= to_micros(atoms[decision.atom_id].valid_from)


@given(CANDIDATES, KNOWN.flatmap(lambda known_ones: st.tuples(st.just(known_ones), st.permutations(known_ones))))
def test_the_way_in_which_known_atoms_were_looked_up_does_not_matter(
    candidate: Candidate, looked_up: tuple[list[KnownAtom], list[KnownAtom]]
) -> None:
    once, other = looked_up
    assert decide(candidate, once, APRIL) == decide(candidate, [*other, *other], APRIL)


@given(CANDIDATES, st.integers(MARCH, MAY))
def test_a_fact_that_was_just_learned_is_known(candidate: Candidate, at: int) -> None:
    candidate = replace(candidate, valid_to=None)
    if isinstance(decide(candidate, [], at), Add):
        decision = decide(candidate, [KnownAtom.from_candidate(candidate, "atom_old", at)], at)
        assert isinstance(decision, Reinforce)
        assert decision.confidence == candidate.confidence
