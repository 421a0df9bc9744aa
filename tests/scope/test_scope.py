"""Whose memory it is: what can be an identity, and that no two are ever taken for one."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any, get_args
from urllib.parse import unquote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import longmind
from longmind.scope import Capability, Level, Scope, timeline_id
from tests.scope.identities import LEGAL

FIELDS = ("tenant_id", "app_id", "user_id")
OPTIONAL_FIELDS = ("agent_id", "group", "session_id", "run_id", "client_id", "graph_id", "node_id")

NOT_IDENTITIES = [
    "",
    " ",
    "\u3000\u00a0",
    "*",
    "a" * 256,
    "😀" * 256,
    "a\nb",
    "a\tb",
    "a\x00b",
    "a\x7fb",
    "a\x85b",
    "a\ud800",
    "\udc00a",
    42,
    4.2,
    True,
    b"ada",
    ["ada"],
]

identities = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=255).filter(
    lambda text: text.strip() and text != "*"
)
# Few letters, and those that separate the parts of an id: where two of them could run together, they will.
tricky = st.text("ab|:/.%\\", min_size=1, max_size=6)
triples = st.tuples(*[identities | tricky] * 3)


def scope(tenant: str = "acme", app: str = "support", user: str = "ada", **rest: Any) -> Scope:
    return Scope(tenant, app, user, **rest)


@pytest.mark.patient
@pytest.mark.conforms("A0.2")
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", [*NOT_IDENTITIES, None], ids=repr)
def test_what_cannot_be_an_identity_is_refused_by_its_name(field: str, value: Any) -> None:
    given = {"tenant_id": "acme", "app_id": "support", "user_id": "ada", field: value}
    with (
        longmind.open("sqlite:///:memory:") as engine,
        pytest.raises(longmind.InvalidIdentity, match=rf"^{field} ") as caught,
    ):
        engine.context(**given)
    assert caught.value.status == 400
    assert caught.value.hint


@pytest.mark.parametrize("field", OPTIONAL_FIELDS)
@pytest.mark.parametrize("value", NOT_IDENTITIES, ids=repr)
def test_what_else_is_known_of_a_call_is_checked_in_the_same_way(field: str, value: Any) -> None:
    with pytest.raises(longmind.InvalidIdentity, match=rf"^{field} "):
        scope(**{field: value})


@pytest.mark.parametrize("field", OPTIONAL_FIELDS)
def test_what_else_is_known_of_a_call_may_be_left_out(field: str) -> None:
    nothing: dict[str, Any] = {field: None}
    assert getattr(scope(**nothing), field) is None


def test_the_three_that_make_a_scope_must_be_given() -> None:
    with longmind.open("sqlite:///:memory:") as engine, pytest.raises(TypeError):
        engine.context(tenant_id="acme", app_id="support")  # type: ignore[call-arg]


@pytest.mark.patient
@pytest.mark.conforms("T25")
@pytest.mark.parametrize("value", LEGAL, ids=repr)
def test_what_can_be_an_identity_is_taken_as_it_is(value: str) -> None:
    with longmind.open("sqlite:///:memory:") as engine:
        context = engine.context(tenant_id=value, app_id=value, user_id=value, session_id=value, agent_id=value)
        conversation = context.conversations.create_conversation("daily-checkin")
        read = context.conversations.get_conversation(conversation.id)
    assert read is not None
    assert (read.tenant_id, read.app_id, read.user_id, read.session_id) == (value,) * 4


@given(triples, triples)
def test_different_triples_never_have_one_scope_id(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assume(one != other)
    assert scope(*one).id != scope(*other).id


@given(st.lists(tricky, min_size=4, max_size=4), st.sampled_from(["", "|", ":", "/", "%"]))
def test_parts_that_run_together_are_told_apart(parts: list[str], separator: str) -> None:
    # "a" and "b:c" are the same letters in the same order as "a:b" and "c".
    a, b, c, d = parts
    splits = {(f"{a}{separator}{b}", c, d), (a, f"{b}{separator}{c}", d), (a, b, f"{c}{separator}{d}")}
    assert len({scope(*split).id for split in splits}) == len(splits)


@given(triples, st.dictionaries(st.sampled_from(OPTIONAL_FIELDS), identities))
def test_equal_triples_always_have_one_scope_id(triple: tuple[str, ...], rest: dict[str, str]) -> None:
    # What else is known of a call does not make it somebody else's.
    assert scope(*triple, **rest).id == scope(*triple).id


@given(triples)
def test_a_scope_id_is_never_the_sign_of_all_scopes(triple: tuple[str, ...]) -> None:
    made = scope(*triple).id
    assert len(made) == 24
    assert made.isascii()
    assert made.isalnum()


def test_a_scope_id_stays_the_same_from_version_to_version() -> None:
    # Written into every row: if this changes, nobody finds their memory again.
    assert scope("acme", "support", "ada").id == "v4htb7sxt77bnldo5d55bgfp"


@pytest.mark.parametrize("field", [*FIELDS, *OPTIONAL_FIELDS, "capabilities", "id"])
def test_a_scope_cannot_be_changed(field: str) -> None:
    made = scope()
    with pytest.raises(FrozenInstanceError):
        setattr(made, field, "bob")
    with pytest.raises(FrozenInstanceError):
        delattr(made, field)
    assert made == scope()


def test_equal_scopes_are_one_key() -> None:
    places = {scope(): "home", scope(user="bob"): "away"}
    assert places[scope()] == "home"
    assert places[scope(user="bob")] == "away"
    assert hash(scope(capabilities={"admin"})) == hash(scope(capabilities=frozenset({"admin"})))
    assert scope(session_id="s") != scope()


# --- timelines -------------------------------------------------------------------------------

levels = st.sampled_from(get_args(Level))
scopes = st.builds(
    Scope,
    tenant_id=identities | tricky,
    app_id=st.just("support"),
    user_id=identities | tricky,
    session_id=st.none() | identities | tricky,
    run_id=st.none() | identities | tricky,
)


def decoded(timeline: str) -> list[tuple[str, str]]:
    """What a timeline id says, read back."""
    parts: list[tuple[str, str]] = []
    for bucket in timeline.split("|"):
        words = bucket.split(":")
        if len(words) % 2:
            words.append("")
        parts.extend((words[at], unquote(words[at + 1], errors="strict")) for at in range(0, len(words), 2))
    return parts


def meant(made: Scope, level: Level) -> list[tuple[str, str]]:
    """What a timeline id of this scope and level should say."""
    org = ("org", made.tenant_id)
    if level == "org":
        return [org]
    if level == "scope":
        return [org, ("global", "")]
    if level == "session" and made.session_id:
        return [org, ("session", made.session_id)]
    if level == "run" and made.run_id:
        return [org, ("run", made.run_id)]
    return [org, org, ("user", made.user_id)]


@pytest.mark.conforms("T25")
@given(scopes, levels)
def test_a_timeline_id_can_be_read_back(made: Scope, level: Level) -> None:
    timeline = timeline_id(made, level)
    # Of a long id a hash stands for the end.
    assume("!" not in timeline)
    assert decoded(timeline) == meant(made, level)


@pytest.mark.conforms("T25")
@given(scopes, levels)
def test_a_timeline_id_is_never_too_long_for_an_index(made: Scope, level: Level) -> None:
    assert len(timeline_id(made, level)) <= 1_600
    longer = scope(session_id="字" * 200 + "a")
    assert timeline_id(longer) != timeline_id(scope(session_id="字" * 200 + "b"))
    assert timeline_id(longer) == timeline_id(longer)


@pytest.mark.conforms("T25")
@given(scopes, levels, scopes, levels)
def test_different_timelines_never_have_one_id(one: Scope, level: Level, other: Scope, other_level: Level) -> None:
    same = meant(one, level) == meant(other, other_level)
    assert (timeline_id(one, level) == timeline_id(other, other_level)) == same


@pytest.mark.conforms("T25")
@given(scopes, levels, st.none() | identities | tricky)
def test_a_timeline_id_leads_out_of_no_folder(made: Scope, level: Level, session_id: str | None) -> None:
    timeline = timeline_id(made, level, session_id=session_id)
    assert "/" not in timeline
    assert "\\" not in timeline
    assert ".." not in timeline
    assert timeline.isascii()
    assert timeline.isprintable()


def test_the_session_of_a_conversation_goes_before_that_of_the_scope() -> None:
    assert timeline_id(scope(session_id="mine"), session_id="theirs") == "org:acme|session:theirs"
    assert timeline_id(scope(session_id="mine")) == "org:acme|session:mine"


def test_a_level_without_its_id_falls_back_to_the_user_and_never_to_all() -> None:
    for level in ("session", "run", "user"):
        assert timeline_id(scope(), level) == "org:acme|org:acme:user:ada"


# --- capabilities ----------------------------------------------------------------------------


def test_a_scope_can_do_nothing_special_unless_it_was_said() -> None:
    assert scope().capabilities == frozenset()
    for capability in get_args(Capability):
        with pytest.raises(longmind.Forbidden, match=capability) as caught:
            scope().require(capability)
        assert caught.value.status == 403
        assert capability in caught.value.hint
        scope(capabilities=[capability]).require(capability)


@pytest.mark.parametrize("capabilities", [["root"], ["admin", "root"], ["Admin"], [""], "admin", "root"], ids=repr)
def test_an_unknown_capability_is_refused(capabilities: Any) -> None:
    with (
        longmind.open("sqlite:///:memory:") as engine,
        pytest.raises(longmind.InvalidInput, match="capabilities") as caught,
    ):
        engine.context(tenant_id="acme", app_id="support", user_id="ada", capabilities=capabilities)
    assert caught.value.status == 400


@pytest.mark.parametrize("capabilities", [5, None, [5], [None], [["admin"]], [5, "root"]], ids=repr)
def test_what_is_no_list_of_capabilities_is_refused(capabilities: Any) -> None:
    with pytest.raises(longmind.InvalidInput, match="capabilities"):
        scope(capabilities=capabilities)


def test_capabilities_cannot_be_added_afterwards() -> None:
    names = {"admin"}
    made = scope(capabilities=names)
    names.clear()
    assert made.capabilities == {"admin"}
    with pytest.raises(AttributeError):
        made.capabilities.add("admin")  # type: ignore[attr-defined]
