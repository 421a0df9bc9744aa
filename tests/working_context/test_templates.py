"""Templates of an application's own: registered, checked, chosen by their id."""

from __future__ import annotations

import pytest

import longmind
from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from tests.working_context.conftest import Ada

SUGGESTED = "{{#suggestions}}{{#items}}{{text}}{{/items}}{{/suggestions}}"


@pytest.mark.conforms("A7.7")
def test_a_template_of_ones_own_is_registered_and_chosen_by_its_id(engine: longmind.Engine, ada: Ada) -> None:
    ada.remember("Ada's cat is called {{notice}} & <b>Tom</b>", "pets")
    engine.templates.register(
        "brief",
        "Known:{{#recalled}}{{#facts}}{{#items}}"
        " {{number}}={{text}}|{{{text}}} [{{category}}, {{kind}}, {{date}}, {{source}}]"
        "{{/items}}{{/facts}}{{/recalled}}",
    )
    built = ada.build(recall_query="cat", template_id="brief")
    name = "Ada's cat is called { {notice} } & &lt;b&gt;Tom&lt;/b&gt;"
    marked = name.replace(" & ", " &amp; ")
    assert built.context_block == f"Known: 1={marked}|{name} [pets, FACT, 2026-03-01, from the application]"
    assert "brief" in engine.templates.ids()


@pytest.mark.conforms("A7.3")
def test_atoms_that_a_template_does_not_show_are_not_used(engine: longmind.Engine, ada: Ada) -> None:
    ada.remember("Ada likes tea", "taste", "PREFERENCE")
    fact = ada.remember("Ada drinks tea at five", "habit")
    ada.say("Tea?", "Yes.")
    engine.templates.register("facts", "{{#recalled}}{{#facts}}{{#items}}{{text}}\n{{/items}}{{/facts}}{{/recalled}}")
    built = ada.build(recall_query="tea", template_id="facts")
    assert built.context_block == "Ada drinks tea at five"
    assert [atom.id for atom in built.atoms_used] == [fact.id]
    # The turns are not in the block, so they are for the caller to send, and are counted with it.
    assert [message.text for message in built.messages] == ["Tea?", "Yes."]
    assert built.tokens_estimated > ada.build(recall_query="tea", template_id="facts", recent_turns=0).tokens_estimated


def test_the_template_for_chat_messages_leaves_the_turns_to_the_messages(ada: Ada) -> None:
    ada.say("What is for lunch?", "Soup.")
    ada.remember("Ada likes soup", "taste")
    built = ada.build(recall_query="soup", template_id="messages")
    assert "Ada likes soup" in built.context_block
    assert "What is for lunch?" not in built.context_block
    assert [message.text for message in built.messages] == ["What is for lunch?", "Soup."]
    only_turns = ada.build(template_id="messages")
    assert only_turns.context_block == ""
    assert only_turns.tokens_estimated > 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{{#turns}}", "No closing tag"),
        ("{{/turns}}", "Stray closing tag"),
        ("{{#turns}}{{/recalled}}", "No closing tag"),
        ("{{> other}}", "another template"),
        (f"{{{{#turns}}}}{'{{#items}}' * 25}x{'{{/items}}' * 25}{{{{/turns}}}}", "'items' is nested"),
        (
            "{{#turns}}{{#items}}{{#recalled}}{{#facts.items}}x{{/facts.items}}{{/recalled}}{{/items}}{{/turns}}",
            "nested",
        ),
        ("{{#turns}}{{#items}}{{^any}}{{#items}}x{{/items}}{{/any}}{{/items}}{{/turns}}", "'items' is nested"),
        ("{{surprise}}", "unknown variable"),
        ("{{#recalled}}{{#facts}}{{#items}}{{texts}}{{/items}}{{/facts}}{{/recalled}}", "unknown variable"),
        (
            "{{#recalled}}{{#suggestions}}{{#items}}{{text}}{{/items}}{{/suggestions}}{{/recalled}}",
            "without {{notice}}",
        ),
        (
            f"{{{{#always_on}}}}{{{{#facts}}}}{{{{notice}}}}{{{{/facts}}}}{SUGGESTED}{{{{/always_on}}}}",
            "without {{notice}}",
        ),
        (
            f"{{{{#recalled}}}}{{{{notice}}}}{{{{/recalled}}}}{{{{#always_on}}}}{SUGGESTED}{{{{/always_on}}}}",
            "without {{notice}}",
        ),
        (
            "{{#recalled}}{{#suggestions}}{{#items}}{{#until}}{{notice}}{{/until}}{{text}}{{/items}}{{/suggestions}}"
            "{{/recalled}}",
            "without {{notice}}",
        ),
        (
            "{{#always_on}}{{#recalled}}{{#facts}}{{#items}}{{text}}{{/items}}{{/facts}}{{/recalled}}{{/always_on}}",
            "depends on",
        ),
        (
            "{{#recalled}}{{#facts}}{{#items}}{{#until}}{{text}}{{/until}}{{/items}}{{/facts}}{{/recalled}}",
            "depends on",
        ),
        (
            "{{^summary}}{{#turns}}{{#items}}{{#messages}}{{line}}{{/messages}}{{/items}}{{/turns}}{{/summary}}",
            "depends on",
        ),
        ("{{#user_memory}}{{#groups}}{{#items}}{{text}}{{/items}}{{/groups}}{{/user_memory}}", "without {{notice}}"),
        (
            "{{#any}}{{notice}}{{/any}}{{#user_memory}}{{#groups}}{{#items}}{{line}}{{/items}}{{/groups}}"
            "{{/user_memory}}",
            "unknown variable",
        ),
        (
            "{{#summary}}{{notice}}{{/summary}}{{#user_memory}}{{#groups}}{{#items}}{{text}}{{/items}}{{/groups}}"
            "{{/user_memory}}",
            "without {{notice}}",
        ),
        ("  ", "blank"),
        (7, "must be a text"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused_when_it_is_registered(
    engine: longmind.Engine, text: str, reason: str
) -> None:
    with pytest.raises(longmind.InvalidInput, match=reason):
        engine.templates.register("mine", text)
    assert "mine" not in engine.templates.ids()


@pytest.mark.conforms("A7.7")
def test_an_unknown_id_is_answered_with_those_that_there_are(engine: longmind.Engine, ada: Ada) -> None:
    engine.templates.register("mine", "{{summary.text}}")
    with pytest.raises(longmind.InvalidInput) as refused:
        ada.build(template_id="min")
    assert "default, xml, messages, mine" in str(refused.value)
    for built_in in ("default", "xml", "messages"):
        with pytest.raises(longmind.InvalidInput, match="built in"):
            engine.templates.register(built_in, "{{summary.text}}")


def test_suggestions_have_their_notice_in_a_template_of_ones_own(engine: longmind.Engine, ada: Ada) -> None:
    ada.remember("Always greet in Latin", "style", "RULE")
    engine.templates.register(
        "mine",
        "{{#recalled}}{{#suggestions}}{{notice}}{{#items}}\n* {{{text}}}{{/items}}{{/suggestions}}{{/recalled}}",
    )
    built = ada.build(recall_query="Latin", template_id="mine")
    assert built.context_block == f"{SUGGESTIONS_NOTICE}\n* Always greet in Latin"
